/* The way from a client to its endpoint: a channel, and where the client has certificates another one
 * whenever those change. What is under way goes on over the old one, which goes with its last call. */
#ifndef STAGEWIRE_CLIENT_RPC_CONNECTION_H
#define STAGEWIRE_CLIENT_RPC_CONNECTION_H

#include <grpc/grpc.h>

#include <stagewire/client.h>

#include "client/core/link.h"
#include "proto/transport/loop.h"
#include "proto/transport/tls_source.h"

/* A channel and how many hold it; on the loop's thread. */
struct channel {
    grpc_channel *grpc;
    bool speaks_tls;
    unsigned holders;
};
struct channel *channel_hold(struct channel *channel);
void channel_release(struct channel *channel);

struct connection {
    struct channel *channel; /* for calls that begin now, on the loop's thread; NULL once it has ended */
    struct channel *more[LINK_CONNECTIONS_MAX - 1]; /* NULL until they are needed */

    /* private */
    struct loop *loop;
    struct tls_source *tls; /* NULL: plaintext */
    char *target, *expected;
    struct wake renew;
};

/* Opens a zeroed one to `target`, gRPC's form of `endpoint`. INVALID_ARGUMENT for certificates that don't fit
 * and for a peer_identity that is no name; RESOURCE_EXHAUSTED. With an error nothing needs to be undone. */
sw_status connection_open(struct connection *connection, const char *endpoint, const char *target,
                          const sw_client_options *options, struct loop *loop, sw_error *error);
/* On the loop's thread: 0 is `channel`, others up to LINK_CONNECTIONS_MAX are further connections, which end
 * by themselves when they were not used for a while. NULL without memory. */
struct channel *connection_channel(struct connection *connection, unsigned index);
/* In this order: another thread than the loop's, so that certificates are not looked at any more; the loop's,
 * when no call is left; any, when the loop has ended. */
void connection_stop(struct connection *connection);
void connection_end(struct connection *connection);
void connection_free(struct connection *connection);

#endif
