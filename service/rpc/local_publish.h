/* What the publishers of an endpoint's own process need: the rules of the wire, and waiting for room. */
#ifndef STAGEWIRE_SERVICE_LOCAL_PUBLISH_H
#define STAGEWIRE_SERVICE_LOCAL_PUBLISH_H

#include "proto/wire/arena.h"
#include "proto/wire/messages.h"
#include "service/rpc/endpoint.h"

/* One call of the publisher: an arena for what the rules have checked, and when it must be done. */
struct local_publish {
    sw_endpoint *endpoint;
    struct arena arena;
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

/* What came through is what a request of the same content would have become. */
sw_status local_check_failure(struct local_publish *local, const struct publish_failure_request *request,
                              struct publish_failure_request *ret, sw_error *error);
sw_status local_check_address(struct local_publish *local, const sw_address *address, sw_address *ret,
                              sw_error *error);
sw_status local_check_close(struct local_publish *local, const struct close_channel_request *request,
                            struct close_channel_request *ret, sw_error *error);
sw_status local_check_attachment(struct arena *arena, const sw_attachment *attachment, sw_attachment *ret,
                                 sw_error *error);
sw_status local_check_tensors(struct local_publish *local, const sw_address *address,
                              const sw_named_tensor *tensors, size_t count, struct manifest *ret,
                              sw_error *error);

#endif
