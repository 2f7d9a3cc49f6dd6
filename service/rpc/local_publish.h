/* What the publishers of an endpoint's own process need: knowing when they must be done, and waiting for
 * room. */
#ifndef STAGEWIRE_SERVICE_LOCAL_PUBLISH_H
#define STAGEWIRE_SERVICE_LOCAL_PUBLISH_H

#include "service/rpc/endpoint.h"

/* One call of the publisher. */
struct local_publish {
    sw_endpoint *endpoint;
    int64_t until_ms;
};

/* FAILED_PRECONDITION in a forked child; then there is nothing to end. `timeout_ms` 0: ten minutes. */
sw_status local_publish_begin(struct local_publish *local, sw_publisher *publisher, int64_t timeout_ms,
                              sw_error *error);
/* Returns `status`, for the last line of a function. */
sw_status local_publish_end(struct local_publish *local, sw_status status);

/* Calls `attempt` under the lock until it says something else than STORE_FULL or PUBLISH_IN_PROGRESS, or time
 * is over; between two attempts it waits for the store to change. */
sw_status local_publish_retry(struct local_publish *local,
                              sw_status (*attempt)(struct store *store, void *context, sw_error *error),
                              void *context, sw_error *error);

/* The address without NULL strings. */
sw_address local_address(const sw_address *address);

#endif
