#include "proto/wire/messages.h"

#include <string.h>

#include "proto/base/buffer.h"
#include "proto/wire/check.h"
#include "proto/wire/pb.h"
#include "proto/wire/value_codec.h"

enum { RESPONSE_ADDRESS = 1, RESPONSE_METRICS = 2, RESPONSE_PUBLISHED = 3 };
enum { REQUEST_ADDRESS = 1, REQUEST_METRICS = 2 };
enum { EVENT_PUBLISHED = 1 };

/* ---- heads: what is written before a payload that follows by reference ---- */

static uint8_t *put_length(uint8_t *at, unsigned field, uint64_t size) {
    *at++ = (uint8_t)WIRE_TAG(field, WIRE_BYTES);
    return at + varint_write(at, size);
}

static uint8_t *put_address(uint8_t *at, unsigned field, const sw_address *address) {
    Stagewire__V1__Address packed;
    pb_from_address(&packed, address);
    at = put_length(at, field, stagewire__v1__address__get_packed_size(&packed));
    return at + stagewire__v1__address__pack(&packed, at);
}

size_t metrics_response_head(const sw_address *address, int64_t published_unix_ns, size_t payload_size,
                             uint8_t *out) {
    uint8_t *at = put_address(out, RESPONSE_ADDRESS, address);
    if (published_unix_ns != 0) {
        *at++ = (uint8_t)WIRE_TAG(RESPONSE_PUBLISHED, WIRE_VARINT);
        at += varint_write(at, (uint64_t)published_unix_ns);
    }
    at = put_length(at, RESPONSE_METRICS, payload_size);
    return (size_t)(at - out);
}

size_t watch_published_head(const sw_address *address, int64_t published_unix_ns, size_t payload_size,
                            uint8_t *out) {
    uint8_t inner[METRICS_HEAD_MAX];
    size_t size = metrics_response_head(address, published_unix_ns, payload_size, inner);
    uint8_t *at = put_length(out, EVENT_PUBLISHED, size + payload_size);
    memcpy(at, inner, size);
    return (size_t)(at - out) + size;
}

/* ---- GetLossMetricsResponse ---- */

static sw_status need_metrics(bool there, sw_error *error) {
    return there ? SW_OK : malformed_at(error, "metrics", "is missing");
}

sw_status metrics_response_decode(const void *data, size_t size, struct arena *arena,
                                  struct metrics_response *ret, sw_error *error) {
    struct path path = path_field(NULL, "address");
    struct metrics_response response;
    struct span metrics, rest;
    bool there;
    ProtobufCMessage *unpacked;
    sw_status status =
        scan_take(span_of(data, size), RESPONSE_METRICS, "metrics", arena, &there, &metrics, &rest, error);
    if (status == SW_OK)
        status =
            pb_unpack(&stagewire__v1__get_loss_metrics_response__descriptor, rest, arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__GetLossMetricsResponse *message = (void *)unpacked;
    response.address = pb_to_address(message->address);
    response.published_unix_ns = message->published_unix_ns;
    status = check_address(&response.address, CHECK_CHANNEL | CHECK_STEP, &path, error);
    if (status == SW_OK) status = need_metrics(there, error);
    if (status == SW_OK) status = metrics_decode(metrics.data, metrics.size, arena, &response.metrics, error);
    if (status == SW_OK) *ret = response;
    return status;
}

/* ---- PublishLossMetricsRequest ---- */

sw_status publish_address_check(const sw_address *address, sw_error *error) {
    struct path path = path_field(NULL, "address");
    return check_address(address, CHECK_CHANNEL | CHECK_STEP, &path, error);
}

sw_status publish_metrics_request_encode(const sw_address *address, const sw_buffer *metrics_bytes,
                                         sw_buffer **ret, sw_error *error) {
    Stagewire__V1__Address packed;
    sw_buffer *buffer;
    void *data;
    pb_from_address(&packed, address);
    size_t payload = sw_buffer_size(metrics_bytes), named = stagewire__v1__address__get_packed_size(&packed);
    size_t size = 1 + varint_size(named) + named + 1 + varint_size(payload) + payload;
    sw_status status = buffer_create(size, &buffer, &data, error);
    if (status != SW_OK) return status;
    uint8_t *at = put_length(put_address(data, REQUEST_ADDRESS, address), REQUEST_METRICS, payload);
    memcpy(at, sw_buffer_data(metrics_bytes), payload);
    *ret = buffer;
    return SW_OK;
}

sw_status publish_metrics_request_decode(const void *data, size_t size, struct arena *arena,
                                         struct publish_metrics_request *ret, sw_error *error) {
    struct publish_metrics_request request;
    struct span metrics, rest;
    bool there;
    ProtobufCMessage *unpacked;
    sw_status status =
        scan_take(span_of(data, size), REQUEST_METRICS, "metrics", arena, &there, &metrics, &rest, error);
    if (status == SW_OK)
        status = pb_unpack(&stagewire__v1__publish_loss_metrics_request__descriptor, rest, arena, &unpacked,
                           error);
    if (status != SW_OK) return status;
    request.address = pb_to_address(((Stagewire__V1__PublishLossMetricsRequest *)(void *)unpacked)->address);
    status = publish_address_check(&request.address, error);
    if (status == SW_OK) status = need_metrics(there, error);
    if (status == SW_OK) status = metrics_decode(metrics.data, metrics.size, arena, &request.metrics, error);
    if (status == SW_OK) *ret = request;
    return status;
}
