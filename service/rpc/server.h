/* The servers of an endpoint: one a class of listener, all on the loop's queue, so that a call knows where it
 * came from. On the loop's thread, but where it says any. */
#ifndef STAGEWIRE_SERVICE_SERVER_H
#define STAGEWIRE_SERVICE_SERVER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <grpc/grpc.h>

#include <stagewire/endpoint.h>

#include "proto/base/list.h"
#include "proto/transport/channel_args.h"
#include "proto/transport/loop.h"
#include "service/rpc/gate.h"
#include "service/rpc/health.h"
#include "service/rpc/listener.h"
#include "service/rpc/methods.h"

struct guard;
struct hand_over;
struct servers;

struct server {
    struct servers *all;
    grpc_server *grpc; /* NULL: nothing listens in this class */
    bool reflects;     /* reflection is served here */
    bool for_probes;   /* only what is for probes is */
    void *registered[METHOD_COUNT];
    struct op started, stopped;
};

struct servers {
    struct loop *loop;
    struct guard *guard;
    uint64_t incarnation;
    char incarnation_text[24];
    struct server each[LISTENER_CLASSES];
    struct health health;
    struct channel_limits limits;
    struct gate gate;
    struct tls_source *tls;      /* NULL: plaintext */
    struct hand_over *hand_over; /* NULL: tensors go by chunks alone; set before servers_start */
    bool insecure_plaintext;

    /* private */
    struct list calls;
    size_t open_calls, armed, running;
    bool closing;
    struct op begin_close;
    struct loop_timer grace;
    sem_t closed;
};

/* Any thread, before anything else. `tls` NULL: plaintext. INVALID_ARGUMENT where the access table is wrong;
 * then there is nothing to close. */
sw_status servers_init(struct servers *servers, struct loop *loop, struct guard *guard,
                       const sw_endpoint_options *options, struct tls_source *tls, sw_error *error);
/* Any thread: the gRPC server that listeners of this class bind to. */
grpc_server *servers_of_class(struct servers *servers, enum listener_class class);
/* Any thread, once all listeners are bound: serves from now on. */
void servers_start(struct servers *servers);
/* Another thread: no new calls, those that never end by themselves are told SHUTTING_DOWN, streams have a
 * moment to end, the rest is cancelled. Returns when no call is left. */
void servers_close(struct servers *servers);

size_t servers_open_calls(const struct servers *servers);
void servers_call_begun(struct servers *servers, struct list *link);
void servers_call_ended(struct servers *servers);

#endif
