#include "proto/wire/messages.h"

#include <string.h>

#include "proto/base/buffer.h"
#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"
#include "proto/wire/value_codec.h"

enum { REQUEST_VALUE = 4, RESPONSE_VALUE = 3 };

/* Without its value a message is packed by protobuf-c; the value, encoded already, goes behind it. */
static sw_status pack_with_value(const ProtobufCMessage *message, unsigned field, const sw_buffer *value,
                                 sw_buffer **ret, sw_error *error) {
    if (!value) return pb_pack(message, ret, error);
    size_t head = protobuf_c_message_get_packed_size(message), payload = sw_buffer_size(value);
    sw_buffer *buffer;
    void *data;
    sw_status status = buffer_create(head + 1 + varint_size(payload) + payload, &buffer, &data, error);
    if (status != SW_OK) return status;
    uint8_t *at = data;
    at += protobuf_c_message_pack(message, at);
    *at++ = (uint8_t)WIRE_TAG(field, WIRE_BYTES);
    at += varint_write(at, payload);
    memcpy(at, sw_buffer_data(value), payload);
    *ret = buffer;
    return SW_OK;
}

/* ---- ExchangeObjectRequest ---- */

sw_status exchange_request_check(const struct exchange_request *request, sw_error *error) {
    struct path address = path_field(NULL, "address"), stage = path_field(&address, "stage");
    struct path count = path_field(NULL, "stage_count");
    bool has_value = request->value || request->value_bytes;
    sw_status status =
        check_address(&request->address, CHECK_CHANNEL | CHECK_STAGE | CHECK_STEP, &address, error);
    if (status == SW_OK)
        status = check_stage_count(request->address.stage, request->stage_count, &stage, &count, error);
    if (status != SW_OK) return status;
    if (request->present && !has_value)
        return malformed_at(error, "value",
                            "is missing where the stage says that it has the object; a null is a value");
    if (!request->present && has_value)
        return malformed_at(error, "present", "is false where there is a value");
    return SW_OK;
}

sw_status exchange_request_encode(const struct exchange_request *request, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__ExchangeObjectRequest message = STAGEWIRE__V1__EXCHANGE_OBJECT_REQUEST__INIT;
    Stagewire__V1__Address address;
    Stagewire__V1__Wait wait;
    pb_from_address(message.address = &address, &request->address);
    wait_to_pb(message.wait = &wait, &request->wait);
    message.stage_count = request->stage_count;
    message.present = request->present;
    return pack_with_value(&message.base, REQUEST_VALUE, request->value_bytes, ret, error);
}

static sw_status decode_exchange_value(struct span value, struct arena *arena,
                                       struct exchange_request *request, sw_error *error) {
    sw_status status = value_decode(value.data, value.size, arena, &request->value, error);
    if (status == SW_OK)
        status = value_encode(request->value, false, &request->value_bytes, &request->value_digest, error);
    return status;
}

sw_status exchange_request_decode(const void *data, size_t size, struct arena *arena,
                                  struct exchange_request *ret, sw_error *error) {
    struct span value, rest;
    bool there;
    ProtobufCMessage *unpacked;
    sw_status status =
        scan_take(span_of(data, size), REQUEST_VALUE, "value", arena, &there, &value, &rest, error);
    if (status == SW_OK)
        status =
            pb_unpack(&stagewire__v1__exchange_object_request__descriptor, rest, arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__ExchangeObjectRequest *message = (void *)unpacked;
    struct exchange_request request = {
        .address = pb_to_address(message->address),
        .stage_count = message->stage_count,
        .present = message->present != 0,
        .wait = wait_from_pb(message->wait),
    };
    if (there) status = decode_exchange_value(value, arena, &request, error);
    if (status == SW_OK) status = exchange_request_check(&request, error);
    if (status == SW_OK)
        *ret = request;
    else
        sw_buffer_unref(request.value_bytes);
    return status;
}

/* ---- ExchangeObjectResponse ---- */

sw_status exchange_response_encode(const struct exchange_response *response, sw_buffer **ret,
                                   sw_error *error) {
    Stagewire__V1__ExchangeObjectResponse message = STAGEWIRE__V1__EXCHANGE_OBJECT_RESPONSE__INIT;
    Stagewire__V1__Address address;
    pb_from_address(message.address = &address, &response->address);
    message.n_owners = response->owner_count;
    message.owners = (uint32_t *)response->owners;
    return pack_with_value(&message.base, RESPONSE_VALUE, response->value_bytes, ret, error);
}

sw_status exchange_response_decode(const void *data, size_t size, struct arena *arena,
                                   struct exchange_response *ret, sw_error *error) {
    struct path path = path_field(NULL, "address");
    struct span value, rest;
    bool there;
    ProtobufCMessage *unpacked;
    sw_status status =
        scan_take(span_of(data, size), RESPONSE_VALUE, "value", arena, &there, &value, &rest, error);
    if (status == SW_OK)
        status =
            pb_unpack(&stagewire__v1__exchange_object_response__descriptor, rest, arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__ExchangeObjectResponse *message = (void *)unpacked;
    struct exchange_response response = {
        .address = pb_to_address(message->address),
        .owners = message->owners,
        .owner_count = (uint32_t)message->n_owners,
    };
    status = check_address(&response.address, CHECK_CHANNEL | CHECK_STEP, &path, error);
    if (status == SW_OK && there)
        status = value_decode(value.data, value.size, arena, &response.value, error);
    if (status == SW_OK) *ret = response;
    return status;
}
