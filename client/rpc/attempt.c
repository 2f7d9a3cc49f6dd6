#include "client/rpc/attempt.h"

#include <string.h>

#include "client/core/connect_words.h"
#include "proto/base/error.h"
#include "proto/base/list.h"
#include "proto/transport/channel_args.h"
#include "proto/transport/slices.h"
#include "proto/transport/status_map.h"

/* An endpoint that ends, or hears the end of a connection, cancels what is under way: a break, no answer. */
static void tell_break_from_cancel(const struct attempt *attempt, sw_error *error) {
    if (error->code != SW_CANCELLED || error->reason != SW_REASON_NONE || attempt->is_cancelled) return;
    error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "the call was broken off by the other side");
}

static void end(struct attempt *attempt) {
    sw_error error;
    status_received(attempt->status, attempt->details, &attempt->trailers, &error);
    tell_break_from_cancel(attempt, &error);
    connect_words(&error, attempt->channel->speaks_tls);
    grpc_slice_unref(attempt->details);
    grpc_metadata_array_destroy(&attempt->headers);
    grpc_metadata_array_destroy(&attempt->trailers);
    grpc_call_unref(attempt->call);
    attempt->call = NULL;
    channel_release(attempt->channel);
    attempt->ops->ended(attempt, &error);
}

/* Of each operation, when its tag has come back. */
static void settle(struct attempt *attempt) {
    if (--attempt->pending == 0) end(attempt);
}

static void start_batch(struct attempt *attempt, const grpc_op *ops, size_t count, struct op *tag) {
    attempt->pending++;
    loop_batch(attempt->call, ops, count, tag);
}

/* ---- reading ---- */

static grpc_op receive_message(struct attempt *attempt) {
    attempt->is_reading = true;
    return (grpc_op){.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &attempt->incoming};
}

static void read_next(struct attempt *attempt) {
    grpc_op receive = receive_message(attempt);
    start_batch(attempt, &receive, 1, &attempt->message_op);
}

void attempt_read(struct attempt *attempt) {
    if (attempt->call && !attempt->is_reading && !attempt->is_over) read_next(attempt);
}

static void run_message(struct op *op, bool ok) {
    struct attempt *attempt = container_of(op, struct attempt, message_op);
    grpc_byte_buffer *message = attempt->incoming;
    attempt->incoming = NULL;
    attempt->is_reading = false;
    if (ok && message) {
        if (attempt->reads == READS_ALL) read_next(attempt);
        attempt->ops->message(attempt, message);
    }
    if (message) grpc_byte_buffer_destroy(message);
    settle(attempt);
}

/* gRPC makes empty metadata of headers that never came; an endpoint's say at least its incarnation. */
static void run_headers(struct op *op, bool ok) {
    struct attempt *attempt = container_of(op, struct attempt, headers_op);
    if (ok && attempt->headers.count > 0 && attempt->ops->headers) attempt->ops->headers(attempt);
    settle(attempt);
}

static void run_status(struct op *op, bool ok) {
    (void)ok;
    struct attempt *attempt = container_of(op, struct attempt, status_op);
    attempt->is_over = true;
    settle(attempt);
}

/* ---- writing ---- */

static void tell_sent(struct attempt *attempt) {
    if (attempt->was_sent) return;
    attempt->was_sent = true;
    if (attempt->ops->sent) attempt->ops->sent(attempt);
}

static void run_write(struct op *op, bool ok) {
    struct attempt *attempt = container_of(op, struct attempt, write_op);
    grpc_byte_buffer_destroy(attempt->outgoing);
    attempt->outgoing = NULL;
    if (ok) tell_sent(attempt);
    if (ok && !attempt->is_over && attempt->writes_more) attempt->ops->written(attempt);
    settle(attempt);
}

static grpc_op send_message(struct attempt *attempt) {
    return (grpc_op){.op = GRPC_OP_SEND_MESSAGE,
                     .flags = MESSAGE_FLAGS,
                     .data.send_message.send_message = attempt->outgoing};
}

void attempt_write(struct attempt *attempt, grpc_byte_buffer *message, bool is_last) {
    attempt->outgoing = message;
    grpc_op ops[2] = {send_message(attempt), {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}};
    start_batch(attempt, ops, is_last ? 2 : 1, &attempt->write_op);
}

/* ---- start, end ---- */

static void receive_status(struct attempt *attempt) {
    grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
                      .data.recv_status_on_client = {.trailing_metadata = &attempt->trailers,
                                                     .status = &attempt->status,
                                                     .status_details = &attempt->details}};
    start_batch(attempt, &status, 1, &attempt->status_op);
}

static grpc_op receive_headers(struct attempt *attempt) {
    return (grpc_op){.op = GRPC_OP_RECV_INITIAL_METADATA,
                     .data.recv_initial_metadata.recv_initial_metadata = &attempt->headers};
}

/* Headers by themselves only for who wants to know of them: each batch costs a microsecond or two. */
static void receive_first(struct attempt *attempt) {
    grpc_op ops[2] = {receive_headers(attempt)};
    if (attempt->ops->headers) {
        start_batch(attempt, ops, 1, &attempt->headers_op);
        read_next(attempt);
    } else {
        ops[1] = receive_message(attempt);
        start_batch(attempt, ops, 2, &attempt->message_op);
    }
}

static void send_request(struct attempt *attempt) {
    grpc_op ops[3] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA}, send_message(attempt), {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}};
    start_batch(attempt, ops, attempt->writes_more ? 2 : 3, &attempt->write_op);
}

static void reset(struct attempt *attempt, const struct attempt_ops *ops, const struct attempt_start *start) {
    memset(attempt, 0, sizeof *attempt);
    attempt->ops = ops;
    attempt->loop = start->loop;
    attempt->reads = start->reads;
    attempt->writes_more = start->writes_more;
    attempt->headers_op.run = run_headers;
    attempt->message_op.run = run_message;
    attempt->write_op.run = run_write;
    attempt->status_op.run = run_status;
    grpc_metadata_array_init(&attempt->headers);
    grpc_metadata_array_init(&attempt->trailers);
    attempt->details = grpc_empty_slice();
}

void attempt_start(struct attempt *attempt, const struct attempt_ops *ops,
                   const struct attempt_start *start) {
    reset(attempt, ops, start);
    attempt->channel = channel_hold(start->channel);
    attempt->call = grpc_channel_create_call(
        start->channel->grpc, NULL, GRPC_PROPAGATE_DEFAULTS, loop_queue(start->loop),
        grpc_slice_from_static_string(start->method), NULL, loop_deadline_of(start->deadline_ms), NULL);
    attempt->outgoing = message_of_buffer(start->request);
    receive_status(attempt);
    send_request(attempt);
    receive_first(attempt);
}

void attempt_cancel(struct attempt *attempt) {
    if (!attempt->call || attempt->is_over) return;
    attempt->is_cancelled = true;
    grpc_call_cancel(attempt->call, NULL);
}

bool attempt_under_way(const struct attempt *attempt) {
    return attempt->call != NULL;
}
