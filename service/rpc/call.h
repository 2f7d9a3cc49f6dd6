/* What every call on the server's side has in common. A call lives on the loop's thread from the moment it is
 * accepted; it counts the batches and the subscription that are pending, and is freed when none is left and
 * it is over.
 *
 * A method is a small table of functions. `begin` runs once; `end` runs once, whatever ended the call;
 * between them the method answers, or writes, or waits for the store. */
#ifndef STAGEWIRE_SERVICE_CALL_H
#define STAGEWIRE_SERVICE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>

#include "proto/base/list.h"
#include "proto/transport/loop.h"
#include "proto/wire/arena.h"
#include "proto/wire/messages.h"
#include "service/rpc/access.h"

struct call;
struct caller;
struct guard;
struct server;

/* Who a call is from, and what he may do; lives in the call's arena. */
struct caller_rights {
    const char *identity; /* "spiffe://…", a DNS name, "@unix", "@loopback", "@plaintext" */
    struct access_grant grant;
};

struct method {
    const char *path;
    size_t state_size;     /* call->state: zeroed */
    bool reads;            /* the client streams: `received`, and `begin` without a request */
    bool reads_when_asked; /* ... a message each call_read, so that nobody is sent more than he reads */
    bool ends_with_drain;  /* never ends by itself: told SHUTTING_DOWN when the endpoint closes */

    void (*begin)(struct call *call, const void *request, size_t size);
    void (*end)(struct call *call);                                 /* NULL: nothing to give back */
    void (*sent)(struct call *call);                                /* the last write was taken */
    void (*received)(struct call *call, grpc_byte_buffer *message); /* NULL: there will be no more */
    void (*woken)(struct call *call);                               /* after call_wake */
};

struct call {
    const struct method *method;
    struct server *server;
    struct guard *guard;
    struct loop *loop;
    struct arena arena; /* what was decoded; ends with the call */
    struct caller_rights rights;
    void *state;

    /* private */
    struct list link;
    struct op accepted, closed, sent, received, half_closed;
    struct wake wake;
    bool subscribed, headers_sent, sending, final_ready, final_sent, over, ended;
    int cancelled;
    unsigned pending;
    struct caller *caller; /* that it counts for; NULL: refused */
    grpc_call *grpc;
    gpr_timespec deadline;
    grpc_metadata_array metadata;
    grpc_call_details details;
    grpc_byte_buffer *request, *outgoing, *incoming;
    grpc_metadata incarnation, trailing[2];
    size_t trailing_count, trailing_more; /* of the status; and the incarnation, where no headers were sent */
    grpc_status_code code;
    grpc_slice message;
};

/* NULL without memory. It is then to be armed with the members under "private". */
struct call *call_create(struct server *server, const struct method *method);
/* Of one that was never accepted. */
void call_discard(struct call *call);
/* After gRPC has filled it. */
void call_begin(struct call *call);

/* ---- for methods; on the loop's thread ---- */

/* The answer, takes over the message (NULL: none, after a stream). One of these two, once. */
void call_reply(struct call *call, grpc_byte_buffer *message);
void call_fail(struct call *call, const sw_error *error);
/* The answer, or why it could not be encoded. Takes over the reference. */
void call_reply_encoded(struct call *call, sw_status status, sw_buffer *encoded, const sw_error *error);

/* A stream: one write at a time, then `sent`; takes over the message. call_reply is its last one. */
void call_write(struct call *call, grpc_byte_buffer *message);
void call_read(struct call *call); /* of what reads_when_asked: one message, or the end, goes to `received` */
bool call_is_sending(const struct call *call);
void call_send_headers(struct call *call);  /* at once, by themselves */
bool call_is_over(const struct call *call); /* answered, or broken */

/* Something that may call_wake from any thread; the call stays until it is ended. */
void call_subscribe(struct call *call);
void call_wake(struct call *call);        /* any thread, while it is subscribed */
void call_unsubscribe(struct call *call); /* nothing wakes it any more; fine if it isn't subscribed */
void call_woken_last(struct call *call);  /* the same from `woken`, where this wake was the only one */

/* When a wait must be answered, so that the reason arrives before the deadline. */
int64_t call_wait_until(const struct call *call, const struct wait_request *wait);

/* The endpoint closes: ends what never ends by itself. */
void call_shut_down(struct call *call);

#endif
