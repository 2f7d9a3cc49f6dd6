#include "service/rpc/call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/slice.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/log.h"
#include "proto/transport/channel_args.h"
#include "proto/transport/slices.h"
#include "proto/transport/status_map.h"
#include "service/rpc/gate.h"
#include "service/rpc/server.h"

/* An answer to a wait goes out this long before the deadline, or a tenth of what is left. */
#define ANSWER_AHEAD_MS 50

struct call *call_create(struct server *server, const struct method *method) {
    struct call *call = calloc(1, sizeof *call + method->state_size);
    if (!call) return NULL;
    call->method = method;
    call->server = server;
    call->guard = server->all->guard;
    call->loop = server->all->loop;
    call->state = call + 1;
    call->message = grpc_empty_slice();
    arena_init(&call->arena, &allocator_system, LIMIT_DECODE_BYTES);
    grpc_metadata_array_init(&call->metadata);
    grpc_call_details_init(&call->details);
    return call;
}

void call_discard(struct call *call) {
    grpc_call_details_destroy(&call->details);
    grpc_metadata_array_destroy(&call->metadata);
    arena_destroy(&call->arena);
    free(call);
}

static void drop_message(grpc_byte_buffer **message) {
    if (*message) grpc_byte_buffer_destroy(*message);
    *message = NULL;
}

static void free_call(struct call *call) {
    struct servers *all = call->server->all;
    list_remove(&call->link);
    gate_leave(call);
    drop_message(&call->request);
    status_metadata_free(call->trailing, call->trailing_count);
    grpc_slice_unref(call->message);
    grpc_call_unref(call->grpc);
    call_discard(call);
    servers_call_ended(all);
}

/* At the end of everything that runs: the call is gone after it if it is over and nothing is pending. */
static void settle(struct call *call) {
    if (call->over && !call->ended) {
        call->ended = true;
        if (call->method->end) call->method->end(call);
    }
    if (call->ended && call->pending == 0) free_call(call);
}

static void start_batch(struct call *call, const grpc_op *ops, size_t count, struct op *op) {
    call->pending++;
    loop_batch(call->grpc, ops, count, op);
}

/* ---- sending ---- */

/* Short enough to be kept within the slice: nothing of ours is pointed to when the endpoint has gone. */
static void name_incarnation(const struct call *call, grpc_metadata *entry) {
    entry->key = grpc_slice_from_static_string("stagewire-incarnation");
    entry->value = grpc_slice_from_copied_string(call->server->all->incarnation_text);
}

/* Headers by themselves tell that a watch stands, so what is refused at once sends none: its incarnation goes
 * with the status. */
static void add_headers(struct call *call, grpc_op *op) {
    bool refused = call->final_ready && !call->outgoing;
    call->headers_sent = true;
    op->op = GRPC_OP_SEND_INITIAL_METADATA;
    if (refused) {
        name_incarnation(call, &call->trailing[call->trailing_count]);
        call->trailing_more = 1;
        return;
    }
    name_incarnation(call, &call->incarnation);
    op->data.send_initial_metadata.count = 1;
    op->data.send_initial_metadata.metadata = &call->incarnation;
}

static void add_status(struct call *call, grpc_op *op) {
    call->final_sent = true;
    op->op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    op->data.send_status_from_server.status = call->code;
    op->data.send_status_from_server.status_details = &call->message;
    op->data.send_status_from_server.trailing_metadata = call->trailing;
    op->data.send_status_from_server.trailing_metadata_count = call->trailing_count + call->trailing_more;
}

/* Whatever is due, in one batch. */
static void send_due(struct call *call) {
    grpc_op ops[3];
    size_t count = 0;
    memset(ops, 0, sizeof ops);
    if (!call->headers_sent) add_headers(call, &ops[count++]);
    if (call->outgoing) {
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count].flags = MESSAGE_FLAGS;
        ops[count++].data.send_message.send_message = call->outgoing;
    }
    if (call->final_ready) add_status(call, &ops[count++]);
    call->sending = true;
    start_batch(call, ops, count, &call->sent);
}

static void on_sent(struct op *op, bool ok) {
    struct call *call = container_of(op, struct call, sent);
    call->pending--;
    call->sending = false;
    drop_message(&call->outgoing);
    if (call->final_sent) {
        call->over = true;
    } else if (ok && !call->over) {
        if (call->final_ready) {
            send_due(call);
        } else if (call->method->sent) {
            call->method->sent(call);
        }
    }
    settle(call);
}

void call_send_headers(struct call *call) {
    if (!call->over && !call->headers_sent) send_due(call);
}

void call_write(struct call *call, grpc_byte_buffer *message) {
    assert(!call->sending && !call->final_ready);
    call->outgoing = message;
    send_due(call);
}

void call_reply(struct call *call, grpc_byte_buffer *message) {
    assert(!call->sending && !call->final_ready);
    call->outgoing = message;
    call->final_ready = true;
    call->code = GRPC_STATUS_OK;
    send_due(call);
}

void call_fail(struct call *call, const sw_error *error) {
    if (call->over || call->final_ready) return;
    call->final_ready = true;
    call->code = (grpc_status_code)error->code;
    call->message = grpc_slice_from_copied_string(error->message);
    call->trailing_count = status_metadata_make(error, call->trailing);
    if (!call->sending) send_due(call);
}

void call_reply_encoded(struct call *call, sw_status status, sw_buffer *encoded, const sw_error *error) {
    if (status != SW_OK) {
        call_fail(call, error);
        return;
    }
    call_reply(call, message_of_buffer(encoded));
    sw_buffer_unref(encoded);
}

bool call_is_sending(const struct call *call) {
    return call->sending;
}

bool call_is_over(const struct call *call) {
    return call->over || call->final_ready;
}

/* ---- receiving ---- */

void call_read(struct call *call) {
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->incoming};
    start_batch(call, &op, 1, &call->received);
}

static void on_half_closed(struct op *op, bool ok) {
    (void)ok;
    struct call *call = container_of(op, struct call, half_closed);
    call->pending--;
    if (!call_is_over(call)) call->method->received(call, NULL);
    settle(call);
}

static void on_received(struct op *op, bool ok) {
    (void)ok;
    struct call *call = container_of(op, struct call, received);
    grpc_byte_buffer *message = call->incoming;
    call->incoming = NULL;
    call->pending--;
    if (!message) {
        /* A broken call reads as an ended one too; that it is broken comes right behind, so look there first.
         */
        call->pending++;
        loop_post(call->loop, &call->half_closed);
    } else if (!call_is_over(call)) {
        /* Before the bytes are looked at: the transport goes on meanwhile. */
        if (!call->method->reads_when_asked) call_read(call);
        call->method->received(call, message);
    }
    drop_message(&message);
    settle(call);
}

static void on_closed(struct op *op, bool ok) {
    (void)ok;
    struct call *call = container_of(op, struct call, closed);
    call->pending--;
    if (!call->final_sent) call->over = true;
    settle(call);
}

/* ---- waiting ---- */

static void on_wake(struct wake *wake) {
    struct call *call = container_of(wake, struct call, wake);
    if (call->subscribed) {
        call->method->woken(call);
    } else {
        call->pending--;
    }
    settle(call);
}

void call_subscribe(struct call *call) {
    assert(!call->subscribed);
    call->subscribed = true;
    call->pending++;
}

void call_wake(struct call *call) {
    loop_wake(call->loop, &call->wake);
}

/* A wake may be on its way: another one, which is the last, tells that none is any more. */
void call_unsubscribe(struct call *call) {
    if (!call->subscribed) return;
    call->subscribed = false;
    call_wake(call);
}

void call_woken_last(struct call *call) {
    call->subscribed = false;
    call->pending--;
}

int64_t call_wait_until(const struct call *call, const struct wait_request *wait) {
    int64_t now = loop_now_ms(call->loop);
    int64_t until = loop_deadline_ms(call->deadline);
    if (until != CLOCK_NEVER) {
        int64_t tenth = (until - now) / 10;
        until -= tenth < ANSWER_AHEAD_MS ? tenth : ANSWER_AHEAD_MS;
    }
    if (wait->wait_ms == 0) return until;
    int64_t wish = clock_after(now, wait->wait_ms);
    return wish < until ? wish : until;
}

/* ---- beginning and being ended ---- */

static void log_call(const struct call *call) {
    char parent[128] = "";
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *entry = &call->metadata.metadata[i];
        if (grpc_slice_str_cmp(entry->key, "traceparent") != 0) continue;
        size_t size = GRPC_SLICE_LENGTH(entry->value);
        if (size >= sizeof parent) continue;
        memcpy(parent, GRPC_SLICE_START_PTR(entry->value), size);
        parent[size] = 0;
    }
    log_debug("call", LOG_TEXT("method", call->method->path), LOG_TEXT("traceparent", parent));
}

static void begin_with_request(struct call *call) {
    struct message_flat flat;
    sw_error error;
    if (!call->request) {
        error_set(&error, SW_REASON_MALFORMED, "the call carries no request message");
        call_fail(call, &error);
    } else if (message_flatten(call->request, &flat, &error) != SW_OK) {
        call_fail(call, &error);
    } else {
        call->method->begin(call, flat.data, flat.size);
        message_flat_free(&flat);
    }
    drop_message(&call->request);
}

void call_begin(struct call *call) {
    call->closed.run = on_closed;
    call->sent.run = on_sent;
    call->received.run = on_received;
    call->half_closed.run = on_half_closed;
    call->wake.run = on_wake;
    sw_error error;
    servers_call_begun(call->server->all, &call->link);
    if (log_enabled(LOG_DEBUG)) log_call(call);

    grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                     .data.recv_close_on_server.cancelled = &call->cancelled};
    start_batch(call, &close, 1, &call->closed);
    if (call->server->all->closing) {
        call_shut_down(call);
    } else if (gate_enter(call, &error) != SW_OK) {
        call_fail(call, &error);
    } else if (call->method->reads) {
        if (!call->method->reads_when_asked) call_read(call);
        call->method->begin(call, NULL, 0);
    } else {
        begin_with_request(call);
    }
    settle(call);
}

void call_shut_down(struct call *call) {
    sw_error error;
    error_set(&error, SW_REASON_SHUTTING_DOWN, "the endpoint is going down; try its successor");
    call_fail(call, &error);
}
