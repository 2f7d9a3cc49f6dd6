#include "client/rpc/publisher.h"

#include <stdlib.h>

#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "proto/wire/value_codec.h"

const sw_publisher_ops publisher_over_rpc = {
    .publish_metrics = publish_metrics_call,
    .publish_tensors = publish_tensors_call,
    .publish_failure = publish_failure_call,
    .close_channel = close_channel_call,
    .attach = attach_call,
};

/* A call with one request, which each attempt sends again as it is. */
struct publish_call {
    struct sw_call call;
    sw_buffer *request;
    bool duplicate;
};

static struct publish_call *publish_of(struct sw_call *call) {
    return container_of(call, struct publish_call, call);
}

static sw_status publish_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                 bool *ret_more, sw_error *error) {
    (void)left_ms;
    (void)ret_more;
    (void)error;
    *ret_request = sw_buffer_ref(publish_of(call)->request);
    return SW_OK;
}

sw_status publish_answer(struct sw_call *call, grpc_byte_buffer *message, bool *ret_duplicate,
                         sw_error *error) {
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    sw_error why = {0};
    status = published_response_decode(flat.data, flat.size, ret_duplicate, &why);
    if (status != SW_OK) status = call_unreadable(call, &why, error);
    message_flat_free(&flat);
    return status;
}

static sw_status publish_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    return publish_answer(call, message, &publish_of(call)->duplicate, error);
}

/* There is nothing in it. */
static sw_status close_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    (void)call;
    (void)message;
    (void)error;
    return SW_OK;
}

void publish_done(struct sw_call *call, const sw_error *error) {
    if (error->code == SW_OK) published_item(&call->client->published, &call->address, call->kind);
}

static void publish_destroy(struct sw_call *call) {
    sw_buffer_unref(publish_of(call)->request);
    call_fini(call);
    free(publish_of(call));
}

static const struct call_ops metrics_ops = {
    .method = "/stagewire.v1.PublisherService/PublishLossMetrics",
    .publishes = true,
    .request = publish_request,
    .message = publish_message,
    .done = publish_done,
    .destroy = publish_destroy,
};

static const struct call_ops failure_ops = {
    .method = "/stagewire.v1.PublisherService/PublishFailure",
    .publishes = true,
    .request = publish_request,
    .message = publish_message,
    .done = publish_done,
    .destroy = publish_destroy,
};

static const struct call_ops close_ops = {
    .method = "/stagewire.v1.PublisherService/CloseChannel",
    .request = publish_request,
    .message = close_message,
    .destroy = publish_destroy,
};

sw_address address_to_send(sw_publisher *publisher, const sw_address *address) {
    sw_client *client = client_of_publisher(publisher);
    sw_address sent = *address;
    if (!sent.run_id || !sent.run_id[0]) sent.run_id = client->run_id;
    if (sent.generation == 0) sent.generation = atomic_load(&client->attached_generation);
    return sent;
}

/* Takes `request` over, whatever it returns. */
static sw_status run(sw_publisher *publisher, const struct call_ops *ops, const sw_address *address,
                     sw_item_kind kind, sw_buffer *request, int64_t timeout_ms, bool *ret_duplicate,
                     sw_error *error) {
    struct publish_call *publish = calloc(1, sizeof *publish);
    if (!publish) {
        sw_buffer_unref(request);
        return error_no_memory(error);
    }
    sw_status status =
        call_init(&publish->call, ops, client_of_publisher(publisher), address, kind, timeout_ms, error);
    if (status != SW_OK) {
        sw_buffer_unref(request);
        free(publish);
        return status;
    }
    publish->request = request;
    status = call_run(&publish->call, error);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = publish->duplicate;
    sw_call_destroy(&publish->call);
    return status;
}

sw_status publish_metrics_call(sw_publisher *publisher, const sw_address *address, const sw_value *metrics,
                               int64_t timeout_ms, bool *ret_duplicate, sw_error *error) {
    sw_address sent = address_to_send(publisher, address);
    sw_buffer *bytes, *request;
    sw_status status = metrics_encode(metrics, false, &bytes, NULL, error);
    if (status != SW_OK) return status;
    status = publish_metrics_request_encode(&sent, bytes, &request, error);
    sw_buffer_unref(bytes);
    if (status != SW_OK) return status;
    return run(publisher, &metrics_ops, &sent, SW_METRICS, request, timeout_ms, ret_duplicate, error);
}

sw_status publish_failure_call(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                               const char *message, int64_t timeout_ms, bool *ret_duplicate,
                               sw_error *error) {
    struct publish_failure_request failure = {
        .address = address_to_send(publisher, address), .kind = kind, .message = message};
    sw_buffer *request;
    sw_status status = publish_failure_request_encode(&failure, &request, error);
    if (status != SW_OK) return status;
    return run(publisher, &failure_ops, &failure.address, kind, request, timeout_ms, ret_duplicate, error);
}

sw_status close_channel_call(sw_publisher *publisher, const sw_address *address, sw_item_kind kind, bool all,
                             sw_close_reason reason, const char *message, int64_t timeout_ms,
                             sw_error *error) {
    struct close_channel_request closing = {.address = address_to_send(publisher, address),
                                            .kind = kind,
                                            .all = all,
                                            .reason = reason,
                                            .message = message};
    if (all) closing.address.channel = NULL;
    sw_buffer *request;
    sw_status status = close_channel_request_encode(&closing, &request, error);
    if (status != SW_OK) return status;
    return run(publisher, &close_ops, &closing.address, kind, request, timeout_ms, NULL, error);
}
