/* A stream that is held open: a lease, a watch. It stands from its first sign on; when it breaks it is taken
 * up again, for at most the endpoint grace; an answer that is no break ends it.
 *
 * Opened and closed by the caller's thread, driven on the loop's. The owner embeds it. */
#ifndef STAGEWIRE_CLIENT_RPC_HELD_H
#define STAGEWIRE_CLIENT_RPC_HELD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/rpc/attempt.h"
#include "client/rpc/client_struct.h"

struct held;

/* On the loop's thread. Those that may be NULL say so. */
struct held_ops {
    const char *method;
    enum attempt_reads reads;
    bool headers_are_a_sign; /* it stands with the initial metadata; else when held_stands is called */
    /* What it is, for errors: "the watch", "the lease of stage 1, group 0". */
    const char *(*words)(struct held *held);
    /* The request of the next stream, with one reference. */
    sw_status (*request)(struct held *held, sw_buffer **ret_request, sw_error *error);
    /* An error ends it. */
    sw_status (*message)(struct held *held, grpc_byte_buffer *message, sw_error *error);
    void (*ended)(struct held *held); /* may be NULL; with `lock` held, after state and error are set */
};

enum held_state { HELD_STARTING, HELD_STANDING, HELD_BROKEN, HELD_ENDED };

struct held {
    const struct held_ops *ops;
    sw_client *client;
    struct member member;
    struct attempt attempt;
    struct loop_timer again_timer, due_timer;
    int64_t begun_ms, due_ms; /* when it must stand */
    uint32_t tries;
    bool is_closing, has_failed;
    sw_error failure; /* what ends it when the stream has */

    struct op begin_op, close_op;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* timed by CLOCK_MONOTONIC */
    enum held_state state;  /* with lock, as all below */
    sw_error error;         /* why it ended */
    bool is_gone;
};

/* Opens a zeroed one and waits until it stands, at most `timeout_ms` (0: the client's). With an error it is
 * closed already. */
sw_status held_open(struct held *held, const struct held_ops *ops, sw_client *client, int64_t timeout_ms,
                    sw_error *error);
/* Ends it and waits until nothing of it is under way. Not in a forked child. */
void held_close(struct held *held);

/* Any thread: why it ended, or SW_OK. */
sw_status held_check(struct held *held, sw_error *error);

/* Loop's thread. */
void held_stands(struct held *held);

#endif
