/* Every request and response, and the details of a status: what is understood goes out again, and is then
 * understood as the same. */
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/wire/health.h"
#include "proto/wire/messages.h"
#include "proto/wire/reflection.h"
#include "proto/wire/value_codec.h"
#include "tests/fuzz/common/fuzz.h"

static struct arena arena;
static sw_error error;

/* Decodes a message and encodes it again; NULL where it was refused. */
typedef sw_buffer *back_and_forth(const uint8_t *data, size_t size);

static sw_buffer *joined(const uint8_t *head, size_t size, sw_buffer *payload) {
    sw_buffer *whole;
    void *data;
    HOLDS(buffer_create(size + sw_buffer_size(payload), &whole, &data, NULL) == SW_OK);
    memcpy(data, head, size);
    memcpy((uint8_t *)data + size, sw_buffer_data(payload), sw_buffer_size(payload));
    sw_buffer_unref(payload);
    return whole;
}

static sw_buffer *payload_of(const sw_value *metrics) {
    sw_buffer *payload;
    HOLDS(metrics_encode(metrics, true, &payload, NULL, NULL) == SW_OK);
    return payload;
}

static bool is_refused(sw_status status) {
    if (status != SW_OK) fuzz_refused(status, &error);
    return status != SW_OK;
}

#define MESSAGE(name, type)                                                                                  \
    static sw_buffer *name(const uint8_t *data, size_t size) {                                               \
        type message;                                                                                        \
        sw_buffer *bytes;                                                                                    \
        if (is_refused(name##_decode(data, size, &arena, &message, &error))) return NULL;                    \
        HOLDS(name##_encode(&message, &bytes, NULL) == SW_OK);                                               \
        return bytes;                                                                                        \
    }

MESSAGE(get_metrics_request, struct pull_request)
MESSAGE(stream_tensors_request, struct pull_request)
MESSAGE(manifest, struct manifest)
MESSAGE(publish_failure_request, struct publish_failure_request)
MESSAGE(close_channel_request, struct close_channel_request)
MESSAGE(release_request, struct release_request)
MESSAGE(attach_request, sw_attachment)
MESSAGE(watch_request, struct watch_request)
MESSAGE(stage_info, struct stage_info)

static sw_buffer *metrics_response(const uint8_t *data, size_t size) {
    struct metrics_response message;
    uint8_t head[METRICS_HEAD_MAX];
    if (is_refused(metrics_response_decode(data, size, &arena, &message, &error))) return NULL;
    if (strlen(message.address.run_id) + strlen(message.address.channel) > METRICS_HEAD_MAX / 2) return NULL;
    sw_buffer *payload = payload_of(message.metrics);
    return joined(
        head,
        metrics_response_head(&message.address, message.published_unix_ns, sw_buffer_size(payload), head),
        payload);
}

static sw_buffer *publish_metrics_request(const uint8_t *data, size_t size) {
    struct publish_metrics_request message;
    sw_buffer *bytes;
    if (is_refused(publish_metrics_request_decode(data, size, &arena, &message, &error))) return NULL;
    sw_buffer *payload = payload_of(message.metrics);
    HOLDS(publish_metrics_request_encode(&message.address, payload, &bytes, NULL) == SW_OK);
    sw_buffer_unref(payload);
    return bytes;
}

static sw_buffer *published_response(const uint8_t *data, size_t size) {
    bool duplicate;
    sw_buffer *bytes;
    if (is_refused(published_response_decode(data, size, &duplicate, &error))) return NULL;
    HOLDS(published_response_encode(duplicate, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *exchange_request(const uint8_t *data, size_t size) {
    struct exchange_request message;
    sw_buffer *bytes;
    if (is_refused(exchange_request_decode(data, size, &arena, &message, &error))) return NULL;
    HOLDS(message.present == (message.value != NULL));
    HOLDS(exchange_request_encode(&message, &bytes, NULL) == SW_OK);
    sw_buffer_unref(message.value_bytes);
    return bytes;
}

static sw_buffer *exchange_response(const uint8_t *data, size_t size) {
    struct exchange_response message;
    sw_buffer *bytes, *value = NULL;
    if (is_refused(exchange_response_decode(data, size, &arena, &message, &error))) return NULL;
    if (message.value) HOLDS(value_encode(message.value, true, &value, NULL, NULL) == SW_OK);
    message.value_bytes = value;
    HOLDS(exchange_response_encode(&message, &bytes, NULL) == SW_OK);
    sw_buffer_unref(value);
    return bytes;
}

static sw_buffer *attach_response(const uint8_t *data, size_t size) {
    uint64_t generation;
    sw_buffer *bytes;
    if (is_refused(attach_response_decode(data, size, &generation, &error))) return NULL;
    HOLDS(attach_response_encode(generation, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *watch_event(const uint8_t *data, size_t size) {
    struct watch_event event;
    sw_buffer *bytes;
    uint8_t head[METRICS_HEAD_MAX];
    if (is_refused(watch_event_decode(data, size, &arena, &event, &error))) return NULL;
    if (event.type == WATCH_PUBLISHED) {
        const sw_address *address = &event.published.address;
        if (strlen(address->run_id) + strlen(address->channel) > METRICS_HEAD_MAX / 2) return NULL;
        sw_buffer *payload = payload_of(event.published.metrics);
        int64_t when = event.published.published_unix_ns;
        return joined(head, watch_published_head(address, when, sw_buffer_size(payload), head), payload);
    }
    HOLDS(watch_event_encode(&event, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *stage_info_request(const uint8_t *data, size_t size) {
    const char *token;
    sw_buffer *bytes;
    if (is_refused(stage_info_request_decode(data, size, &arena, &token, &error))) return NULL;
    HOLDS(stage_info_request_encode(token, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *health_request(const uint8_t *data, size_t size) {
    const char *service;
    sw_buffer *bytes;
    if (is_refused(health_request_decode(data, size, &arena, &service, &error))) return NULL;
    HOLDS(health_request_encode(service, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *health_response(const uint8_t *data, size_t size) {
    enum health_status health;
    sw_buffer *bytes;
    if (is_refused(health_response_decode(data, size, &health, &error))) return NULL;
    HOLDS(health_response_encode(health, &bytes, NULL) == SW_OK);
    return bytes;
}

static sw_buffer *health_list_request(const uint8_t *data, size_t size) {
    is_refused(health_list_request_decode(data, size, &error));
    return NULL;
}

/* Nobody here writes one, but it goes along with its answer. */
static sw_buffer *reflection_request(const uint8_t *data, size_t size) {
    struct reflection_request request;
    const struct reflection_answer answer = {
        .kind = REFLECTION_ERROR, .code = SW_NOT_FOUND, .message = "none"};
    sw_buffer *bytes;
    if (is_refused(reflection_request_decode(data, size, &arena, &request, &error))) return NULL;
    HOLDS(reflection_answer_encode(&request, &answer, &bytes, NULL) == SW_OK);
    sw_buffer_unref(bytes);
    return NULL;
}

static sw_buffer *status_details(const uint8_t *data, size_t size) {
    sw_buffer *bytes;
    error.code = SW_ABORTED;
    error.message[0] = 0;
    status_details_decode(data, size, &error);
    HOLDS(status_details_encode(&error, &bytes, NULL) == SW_OK);
    HOLDS(sw_buffer_size(bytes) <= LIMIT_STATUS_BYTES);
    return bytes;
}

static back_and_forth *const kinds[] = {
    get_metrics_request,
    stream_tensors_request,
    manifest,
    publish_failure_request,
    close_channel_request,
    release_request,
    attach_request,
    watch_request,
    stage_info,
    metrics_response,
    published_response,
    publish_metrics_request,
    exchange_request,
    exchange_response,
    attach_response,
    watch_event,
    stage_info_request,
    status_details,
    health_request,
    health_response,
    health_list_request,
    reflection_request,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    back_and_forth *kind = kinds[data[0] % (sizeof kinds / sizeof *kinds)];
    error = (sw_error){0};
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_buffer *once = kind(data + 1, size - 1);
    if (once) {
        sw_buffer *twice = kind(sw_buffer_data(once), sw_buffer_size(once));
        HOLDS(twice);
        HOLDS(fuzz_same_bytes(once, twice));
        sw_buffer_unref(once);
        sw_buffer_unref(twice);
    }
    arena_destroy(&arena);
    return 0;
}
