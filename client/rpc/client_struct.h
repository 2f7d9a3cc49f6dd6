/* What a client is to the files of this folder. Fields below "loop" belong to the loop's thread. */
#ifndef STAGEWIRE_CLIENT_RPC_CLIENT_STRUCT_H
#define STAGEWIRE_CLIENT_RPC_CLIENT_STRUCT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/client.h>

#include "client/core/link.h"
#include "client/core/published.h"
#include "client/core/released.h"
#include "client/rpc/connection.h"
#include "client/rpc/hand_over.h"
#include "proto/base/list.h"
#include "proto/transport/loop.h"

/* Something open at a client: a call, a watch, a lease. */
struct member {
    struct list link;
    void (*cancel)(struct member *member); /* ends it soon; on the loop's thread */
};

struct sw_client {
    struct loop *loop;
    struct connection connection;
    char *endpoint, *run_id, *consumer_id; /* run_id and consumer_id: "" for none */
    int64_t timeout_ms, endpoint_grace_ms;
    sw_publisher publisher;
    _Atomic uint64_t attached_generation; /* of the leases that are held, or being taken up again; 0: none */

    struct link link;
    struct hand_over hand_over;
    struct list members;
    struct released released;
    struct published published;
    bool is_closing;
    bool reached_once;
    int64_t gone_since_ms; /* CLOCK_NEVER: there is a connection, as far as we know */
    uint32_t random;
    unsigned leases;

    struct op close_op;
    pthread_mutex_t lock;
    pthread_cond_t quiet;
    bool is_quiet; /* with lock */
};

/* Whether this thread of this process may use it at all: FAILED_PRECONDITION in a forked child, and on the
 * thread that drives them (a buffer's release function), which would wait for itself. Any thread. */
sw_status client_check(const sw_client *client, sw_error *error);

/* The deadline of a call that begins now: `timeout_ms`, or where it is 0 the client's. INVALID_ARGUMENT if it
 * is negative. Any thread. */
sw_status client_deadline(const sw_client *client, int64_t timeout_ms, int64_t *ret_deadline_ms,
                          sw_error *error);

/* An open thing comes and goes. False if the client is being closed: then nothing may begin. */
bool client_enter(sw_client *client, struct member *member);
void client_leave(sw_client *client, struct member *member);

/* What a call learned of the endpoint: that there is a connection to it, or how the call ended. */
void client_reached(sw_client *client);
void client_ended(sw_client *client, const sw_error *error);

/* ENDPOINT_LOST; `error` holds the last one, which goes into its message. */
void client_say_lost(const sw_client *client, sw_error *error);

uint32_t client_random(sw_client *client);

extern const sw_publisher_ops publisher_over_rpc;

static inline sw_client *client_of_publisher(sw_publisher *publisher) {
    return container_of(publisher, sw_client, publisher);
}

#endif
