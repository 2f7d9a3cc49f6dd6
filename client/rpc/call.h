/* A call as the caller sees it: one or more attempts until its deadline, cancelled from any thread, waited
 * for by a condition or a descriptor. What is particular to a method is a `struct call_ops`; the owner embeds
 * the call first.
 *
 * Two hold it: who started it, and the loop until it is done. Who is last frees it. */
#ifndef STAGEWIRE_CLIENT_RPC_CALL_H
#define STAGEWIRE_CLIENT_RPC_CALL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/client.h>

#include "client/rpc/attempt.h"
#include "client/rpc/client_struct.h"
#include "proto/wire/arena.h"
#include "proto/wire/messages.h"

/* What to do when an attempt has ended. */
enum call_next {
    CALL_AS_USUAL, /* done if it ended well, else tried again if that makes sense */
    CALL_GO_ON,    /* the next attempt at once */
    CALL_DONE,     /* with what is in `error`, which the owner may have set */
    CALL_WAIT,     /* there are more attempts under way: `settle` once more when they have ended */
};

/* All on the loop's thread, but `destroy`. Those that may be NULL say so. */
struct call_ops {
    const char *method;
    bool waits;     /* the endpoint waits for wait_ms and then says why: it gets a second more */
    bool publishes; /* STORE_FULL and PUBLISH_IN_PROGRESS are tried again */
    bool streams;   /* there may be any number of answers; else one */

    /* Before the first attempt; may be NULL. */
    void (*begin)(struct sw_call *call);
    /* The request of the next attempt, with one reference; `left_ms` is what to wait at most. Whether more is
     * written after it goes to *ret_more, which is false. */
    sw_status (*request)(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request, bool *ret_more,
                         sw_error *error);
    /* What came; an error ends the call with it. */
    sw_status (*message)(struct sw_call *call, grpc_byte_buffer *message, sw_error *error);
    void (*written)(struct sw_call *call); /* may be NULL */
    /* An attempt ended as `error` says; may be NULL: CALL_AS_USUAL. */
    enum call_next (*settle)(struct sw_call *call, sw_error *error);
    /* Ends soon what the call's `more` counts; may be NULL where that is always 0. */
    void (*stop)(struct sw_call *call);
    /* It is over as `error` says, and the caller learns it next; may be NULL. */
    void (*done)(struct sw_call *call, const sw_error *error);
    /* Frees what the owner holds, and the owner. Any thread. */
    void (*destroy)(struct sw_call *call);
};

struct sw_call {
    const struct call_ops *ops;
    sw_client *client;
    struct arena arena; /* lives as long as the call */
    sw_address address; /* as asked for; strings in the arena */
    sw_item_kind kind;

    struct member member;
    struct attempt attempt;
    struct loop_timer again_timer;
    int64_t begun_ms, deadline_ms;
    uint32_t tries;   /* since the last progress */
    unsigned answers; /* messages of this attempt */
    unsigned more;    /* the owner's attempts beside it */
    int64_t asked_ms; /* when this attempt began */
    bool is_cancelled, has_failed;
    bool is_waiting; /* CALL_WAIT */
    bool has_begun;  /* the owner's: what was asked for has begun to come */
    sw_error error;  /* the last attempt's; in the end the call's */

    _Atomic uint64_t bytes_arrived, bytes_in_all; /* of tensors */

    struct op begin_op, cancel_op;
    atomic_bool cancel_asked;
    atomic_uint holders;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_done;  /* with lock; then `error` and the owner's result are the caller's */
    bool is_taken; /* the caller's */
    int fd;        /* -1: none asked for */
};

/* For owners: fills a zeroed call that embeds it. `address` may be NULL; its strings are copied. Errors:
 * client_deadline, RESOURCE_EXHAUSTED; then nothing needs to be undone. */
sw_status call_init(struct sw_call *call, const struct call_ops *ops, sw_client *client,
                    const sw_address *address, sw_item_kind kind, int64_t timeout_ms, sw_error *error);
/* Undoes call_init: for the ops' `destroy`. Others end a call with sw_call_destroy, started or not. */
void call_fini(struct sw_call *call);

/* Hands it to the loop; there is a descriptor to wait on: RESOURCE_EXHAUSTED if none is to be had.
 * client_check. With an error it was not started. */
sw_status call_start(struct sw_call *call, sw_error *error);
/* The same for a call that nobody waits for: it frees itself. On the loop's thread or any other. */
void call_start_alone(struct sw_call *call);
/* Waits for the end, by doing the loop's work where nobody else needs it; the status it ended with. CANCELLED
 * if the wait was interrupted: it may be under way still, and its owner destroys it next. */
sw_status call_wait(struct sw_call *call, sw_error *error);
/* Both for a call that nobody but its caller waits for, with no descriptor: for owners that are destroyed
 * next, in either case, by sw_call_destroy. */
sw_status call_run(struct sw_call *call, sw_error *error);

/* Loop's thread: ends the attempt that is under way, and the call with this error. */
void client_call_fail(struct sw_call *call, const sw_error *error);
/* Loop's thread: it was cancelled, or has failed, and is over when nothing is under way any more. */
bool call_is_ending(const struct sw_call *call);
/* Loop's thread: one of `more` ended: counts it off. The call may be over after it. */
void call_more_ended(struct sw_call *call);
/* When gRPC is to give an attempt up. */
int64_t call_deadline_ms(const struct sw_call *call);
/* Loop's thread: something arrived, so that tries are counted anew. */
void call_progress(struct sw_call *call);

/* An address's words, for errors; `words` has ADDRESS_WORDS_MAX bytes. Without a channel: "". */
const char *call_words(const struct sw_call *call, char *words);

/* Copies an address into an arena; false without memory. */
bool address_copy(struct arena *arena, const sw_address *address, sw_address *ret);

/* What a client cannot read is DATA_LOSS, whatever the decoder called it. */
sw_status call_unreadable(const struct sw_call *call, const sw_error *why, sw_error *error);

#endif
