#include "tests/support/raw.h"

#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include "proto/transport/slices.h"
#include "proto/transport/status_map.h"
#include "tests/support/certs.h"

struct raw {
    grpc_channel *channel;
};

enum raw_tag { TAG_HEADERS, TAG_SEND, TAG_READ, TAG_STATUS, TAG_COUNT };

struct raw_call {
    grpc_call *call;
    grpc_completion_queue *queue;
    bool pending[TAG_COUNT], ok[TAG_COUNT];
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *sent, *received;
    grpc_status_code status;
    grpc_slice details;
};

/* Takes `credentials` over. */
static struct raw *open_with(const char *target, grpc_channel_credentials *credentials,
                             grpc_ssl_session_cache *sessions) {
    grpc_arg args[4] = {
        {.type = GRPC_ARG_INTEGER, .key = GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, .value.integer = 1},
        {.type = GRPC_ARG_INTEGER, .key = GRPC_ARG_ENABLE_HTTP_PROXY, .value.integer = 0},
        {.type = GRPC_ARG_INTEGER, .key = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, .value.integer = 4 << 20},
    };
    grpc_channel_args channel_args = {3, args};
    if (sessions) args[channel_args.num_args++] = grpc_ssl_session_cache_create_channel_arg(sessions);
    struct raw *raw = calloc(1, sizeof *raw);
    raw->channel = grpc_channel_create(target, credentials, &channel_args);
    grpc_channel_credentials_release(credentials);
    return raw;
}

struct raw *raw_open(const char *target) {
    grpc_init();
    return open_with(target, grpc_insecure_credentials_create(), NULL);
}

struct raw *raw_open_tls(const char *target, const struct raw_tls *tls) {
    grpc_init();
    char *roots = cert_pem(tls->ca), *key = NULL, *pem = NULL;
    if (tls->cert) key = cert_key_pem(tls->key ? tls->key : tls->cert), pem = cert_pem(tls->cert);
    grpc_ssl_pem_key_cert_pair pair = {key, pem};
    struct raw *raw = open_with(
        target, grpc_ssl_credentials_create_ex(roots, tls->cert ? &pair : NULL, NULL, NULL), tls->sessions);
    free(roots);
    free(key);
    free(pem);
    return raw;
}

bool raw_session_reused(const struct raw_call *call) {
    grpc_auth_context *context = grpc_call_auth_context(call->call);
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_SSL_SESSION_REUSED_PROPERTY);
    const grpc_auth_property *reused = grpc_auth_property_iterator_next(&at);
    bool is_reused = reused && strcmp(reused->value, "true") == 0;
    grpc_auth_context_release(context);
    return is_reused;
}

void raw_close(struct raw *raw) {
    grpc_channel_destroy(raw->channel);
    free(raw);
    grpc_shutdown();
}

static gpr_timespec in_ms(int64_t ms) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN));
}

static void begin(struct raw_call *call, enum raw_tag tag, const grpc_op *ops, size_t count) {
    call->pending[tag] = true;
    if (grpc_call_start_batch(call->call, ops, count, (void *)(intptr_t)(tag + 1), NULL) != GRPC_CALL_OK)
        abort();
}

/* Drives the call's queue until `tag` has come back; false if that did not happen in time. */
static bool await(struct raw_call *call, enum raw_tag tag, gpr_timespec deadline) {
    while (call->pending[tag]) {
        grpc_event event = grpc_completion_queue_next(call->queue, deadline, NULL);
        if (event.type != GRPC_OP_COMPLETE) return false;
        enum raw_tag done = (enum raw_tag)((intptr_t)event.tag - 1);
        call->pending[done] = false;
        call->ok[done] = event.success != 0;
    }
    return true;
}

static void await_for_ever(struct raw_call *call, enum raw_tag tag) {
    await(call, tag, gpr_inf_future(GPR_CLOCK_MONOTONIC));
}

static void begin_read(struct raw_call *call) {
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->received};
    begin(call, TAG_READ, &op, 1);
}

struct raw_call *raw_start(struct raw *raw, const char *method, sw_buffer *request, bool half_close,
                           int64_t timeout_ms) {
    struct raw_call *call = calloc(1, sizeof *call);
    call->queue = grpc_completion_queue_create_for_next(NULL);
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    call->call =
        grpc_channel_create_call(raw->channel, NULL, GRPC_PROPAGATE_DEFAULTS, call->queue,
                                 grpc_slice_from_static_string(method), NULL, in_ms(timeout_ms), NULL);
    grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
                      .data.recv_status_on_client = {.trailing_metadata = &call->trailing,
                                                     .status = &call->status,
                                                     .status_details = &call->details}};
    begin(call, TAG_STATUS, &status, 1);
    grpc_op headers = {.op = GRPC_OP_RECV_INITIAL_METADATA,
                       .data.recv_initial_metadata.recv_initial_metadata = &call->initial};
    begin(call, TAG_HEADERS, &headers, 1);
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t count = 1;
    if (request) {
        call->sent = message_of_buffer(request);
        sw_buffer_unref(request);
        ops[count++] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->sent};
    }
    if (half_close) ops[count++] = (grpc_op){.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    begin(call, TAG_SEND, ops, count);
    begin_read(call);
    return call;
}

static bool sent(struct raw_call *call) {
    await_for_ever(call, TAG_SEND);
    if (call->sent) grpc_byte_buffer_destroy(call->sent);
    call->sent = NULL;
    return call->ok[TAG_SEND];
}

bool raw_send(struct raw_call *call, sw_buffer *message) {
    bool alive = sent(call);
    if (alive) {
        call->sent = message_of_buffer(message);
        grpc_op op = {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->sent};
        begin(call, TAG_SEND, &op, 1);
        alive = sent(call);
    }
    sw_buffer_unref(message);
    return alive;
}

void raw_half_close(struct raw_call *call) {
    if (!sent(call)) return;
    grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    begin(call, TAG_SEND, &op, 1);
}

static void drop_received(struct raw_call *call) {
    if (call->received) grpc_byte_buffer_destroy(call->received);
    call->received = NULL;
}

sw_buffer *raw_read_within(struct raw_call *call, int64_t timeout_ms, bool *ret_waiting) {
    *ret_waiting = !await(call, TAG_READ, in_ms(timeout_ms));
    if (*ret_waiting || !call->received) return NULL;
    grpc_byte_buffer_reader reader;
    grpc_byte_buffer_reader_init(&reader, call->received);
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    drop_received(call);
    begin_read(call);
    sw_buffer *message;
    void *data;
    if (sw_buffer_create(GRPC_SLICE_LENGTH(all), &message, &data, NULL) != SW_OK) abort();
    memcpy(data, GRPC_SLICE_START_PTR(all), GRPC_SLICE_LENGTH(all));
    grpc_slice_unref(all);
    return message;
}

sw_buffer *raw_read(struct raw_call *call) {
    bool waiting;
    return raw_read_within(call, 60000, &waiting);
}

bool raw_headers(struct raw_call *call) {
    await_for_ever(call, TAG_HEADERS);
    return call->ok[TAG_HEADERS] && call->initial.count > 0;
}

void raw_cancel(struct raw_call *call) {
    grpc_call_cancel(call->call, NULL);
}

bool raw_over(struct raw_call *call, int64_t timeout_ms) {
    return await(call, TAG_STATUS, in_ms(timeout_ms));
}

sw_status raw_finish(struct raw_call *call, sw_error *ret_error) {
    while (await_for_ever(call, TAG_READ), call->received) {
        drop_received(call);
        begin_read(call);
    }
    await_for_ever(call, TAG_STATUS);
    await_for_ever(call, TAG_HEADERS);
    sent(call);
    sw_error error;
    status_received(call->status, call->details, &call->trailing, &error);
    if (ret_error) *ret_error = error;
    grpc_completion_queue_shutdown(call->queue);
    while (grpc_completion_queue_next(call->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(call->queue);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->details);
    grpc_call_unref(call->call);
    free(call);
    return error.code;
}

sw_status raw_unary(struct raw *raw, const char *method, sw_buffer *request, int64_t timeout_ms,
                    sw_buffer **ret_response, sw_error *ret_error) {
    struct raw_call *call = raw_start(raw, method, request, true, timeout_ms);
    sw_buffer *response = raw_read(call);
    sw_status status = raw_finish(call, ret_error);
    if (status == SW_OK && ret_response)
        *ret_response = response;
    else
        sw_buffer_unref(response);
    return status;
}
