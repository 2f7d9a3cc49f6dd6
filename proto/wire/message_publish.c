#include "proto/wire/messages.h"

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"

/* ---- PublishLossMetricsResponse, PublishTensorsResponse, PublishFailureResponse ---- */

sw_status published_response_encode(bool duplicate, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__PublishLossMetricsResponse message = STAGEWIRE__V1__PUBLISH_LOSS_METRICS_RESPONSE__INIT;
    message.duplicate = duplicate;
    return pb_pack(&message.base, ret, error);
}

sw_status published_response_decode(const void *data, size_t size, bool *ret_duplicate, sw_error *error) {
    ProtobufCMessage *unpacked;
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status = pb_unpack(&stagewire__v1__publish_loss_metrics_response__descriptor,
                                 span_of(data, size), &arena, &unpacked, error);
    if (status == SW_OK)
        *ret_duplicate = ((Stagewire__V1__PublishLossMetricsResponse *)(void *)unpacked)->duplicate != 0;
    arena_destroy(&arena);
    return status;
}

sw_status empty_response_encode(sw_buffer **ret, sw_error *error) {
    void *data;
    return buffer_create(0, ret, &data, error);
}

/* ---- PublishFailureRequest ---- */

sw_status publish_failure_request_check(const struct publish_failure_request *request, sw_error *error) {
    struct path kind = path_field(NULL, "kind"), message = path_field(NULL, "message");
    sw_status status = publish_address_check(&request->address, error);
    if (status == SW_OK) status = check_kind((int)request->kind, &kind, error);
    if (status == SW_OK) status = check_text(request->message, 0, SIZE_MAX, "a message", &message, error);
    return status;
}

sw_status publish_failure_request_encode(const struct publish_failure_request *request, sw_buffer **ret,
                                         sw_error *error) {
    Stagewire__V1__PublishFailureRequest message = STAGEWIRE__V1__PUBLISH_FAILURE_REQUEST__INIT;
    Stagewire__V1__Address address;
    pb_from_address(message.address = &address, &request->address);
    message.kind = (Stagewire__V1__ItemKind)request->kind;
    message.message = pb_text(request->message);
    return pb_pack(&message.base, ret, error);
}

sw_status publish_failure_request_decode(const void *data, size_t size, struct arena *arena,
                                         struct publish_failure_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__publish_failure_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__PublishFailureRequest *message = (void *)unpacked;
    struct publish_failure_request request = {
        .address = pb_to_address(message->address),
        .kind = (sw_item_kind)message->kind,
        .message = message->message,
    };
    status = publish_failure_request_check(&request, error);
    if (status == SW_OK) *ret = request;
    return status;
}

/* ---- CloseChannelRequest ---- */

static sw_status check_reason(sw_close_reason reason, sw_error *error) {
    if (reason == SW_CLOSE_FINISHED || reason == SW_CLOSE_ABORTED) return SW_OK;
    if ((int)reason == 0) return malformed_at(error, "reason", "is not set; it is FINISHED or ABORTED");
    return malformed_at(error, "reason", "is %d; a publisher closes with FINISHED or ABORTED", (int)reason);
}

static sw_status check_closed_kind(const struct close_channel_request *request, sw_error *error) {
    struct path kind = path_field(NULL, "kind");
    if (request->all && (int)request->kind == 0) return SW_OK;
    return check_kind((int)request->kind, &kind, error);
}

sw_status close_channel_request_check(const struct close_channel_request *request, sw_error *error) {
    struct path address = path_field(NULL, "address"), message = path_field(NULL, "message");
    sw_status status = check_address(&request->address, request->all ? 0 : CHECK_CHANNEL, &address, error);
    if (status == SW_OK) status = check_closed_kind(request, error);
    if (status == SW_OK) status = check_reason(request->reason, error);
    if (status == SW_OK) status = check_text(request->message, 0, SIZE_MAX, "a message", &message, error);
    return status;
}

sw_status close_channel_request_encode(const struct close_channel_request *request, sw_buffer **ret,
                                       sw_error *error) {
    Stagewire__V1__CloseChannelRequest message = STAGEWIRE__V1__CLOSE_CHANNEL_REQUEST__INIT;
    Stagewire__V1__Address address;
    pb_from_address(message.address = &address, &request->address);
    message.kind = (Stagewire__V1__ItemKind)request->kind;
    message.all = request->all;
    message.reason = (Stagewire__V1__CloseReason)request->reason;
    message.message = pb_text(request->message);
    return pb_pack(&message.base, ret, error);
}

sw_status close_channel_request_decode(const void *data, size_t size, struct arena *arena,
                                       struct close_channel_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__close_channel_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__CloseChannelRequest *message = (void *)unpacked;
    struct close_channel_request request = {
        .address = pb_to_address(message->address),
        .kind = (sw_item_kind)message->kind,
        .all = message->all != 0,
        .reason = (sw_close_reason)message->reason,
        .message = message->message,
    };
    status = close_channel_request_check(&request, error);
    if (status == SW_OK) *ret = request;
    return status;
}
