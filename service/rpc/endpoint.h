/* An endpoint from the inside: loop, store under its lock, servers, listeners, and the publisher for those in
 * the process. */
#ifndef STAGEWIRE_SERVICE_RPC_ENDPOINT_H
#define STAGEWIRE_SERVICE_RPC_ENDPOINT_H

#include <stagewire/endpoint.h>

#include "proto/base/list.h"
#include "proto/transport/loop.h"
#include "proto/transport/tls_source.h"
#include "service/rpc/guard.h"
#include "service/rpc/hand_over.h"
#include "service/rpc/listener.h"
#include "service/rpc/server.h"

struct sw_endpoint {
    sw_publisher publisher;
    struct loop *loop;
    struct guard guard;
    struct servers servers;
    struct tls_source *tls;      /* NULL: plaintext */
    struct hand_over *hand_over; /* NULL: no Unix socket, or nothing to hand over with */
    struct listener *listeners;
    uint32_t listener_count;

    /* under the guard's lock */
    unsigned users;     /* calls of the publisher that are under way */
    struct list leases; /* of the publisher */
};

/* The options as the store's; INVALID_ARGUMENT names the one that is wrong. */
sw_status endpoint_options_check(const sw_endpoint_options *options, sw_error *error);
struct store_options endpoint_options_of_store(const sw_endpoint_options *options);

/* Of endpoint->publisher. */
extern const sw_publisher_ops endpoint_publisher_ops;

#endif
