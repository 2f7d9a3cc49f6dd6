/* Allocation failure, swept: the n-th allocation fails, for every n. */
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/wire/health.h"
#include "proto/wire/reflection.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/failing.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

union decoded {
    struct pull_request pull;
    struct metrics_response metrics;
    struct publish_metrics_request publish;
    struct manifest manifest;
    struct publish_failure_request failure;
    struct close_channel_request closing;
    struct release_request release;
    const char *text;
    struct reflection_request question;
    struct exchange_request exchange;
    struct exchange_response answer;
    sw_attachment attachment;
    struct watch_request watch;
    struct watch_event event;
    struct stage_info info;
    const sw_value *value;
};

typedef sw_status decoder(const void *data, size_t size, struct arena *arena, void *ret, sw_error *error);

static void sweep(decoder *decode, sw_buffer *bytes) {
    for (size_t n = 0;; n++) {
        struct failing failing;
        struct arena arena;
        sw_error error;
        union decoded untouched, back;
        memset(&untouched, 0x77, sizeof untouched), memset(&back, 0x77, sizeof back);
        failing_init(&failing, n);
        arena_init(&arena, &failing.allocator, SIZE_MAX);
        sw_status status = decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &back, &error);
        arena_destroy(&arena);
        cr_assert_eq(failing.out, 0);
        if (status == SW_OK) {
            cr_assert_gt(n, 0, "it takes memory");
            break;
        }
        cr_assert_eq(status, SW_RESOURCE_EXHAUSTED, "%s", error.message);
        cr_assert_eq(error.reason, SW_REASON_LIMIT);
        cr_assert_str_eq(sw_error_metadata(&error, "limit"), "memory");
        cr_assert_eq(memcmp(&untouched, &back, sizeof back), 0, "written only on success");
        cr_assert_lt(n, 10000);
    }
    sw_buffer_unref(bytes);
}

/* A payload of many kinds, many keys and many bytes: arenas take several blocks for it, and tables of keys
 * one each. */
static const sw_value *large_metrics(void) {
    enum { COPIES = 40 };
    static sw_value items[COPIES];
    for (size_t i = 0; i < COPIES; i++) items[i] = *every_kind();
    static sw_value list;
    list = sw_list(items, COPIES);
    return &list;
}

static sw_buffer *encoded_metrics(void) {
    sw_buffer *bytes;
    cr_assert_eq(metrics_encode(large_metrics(), false, &bytes, NULL, NULL), SW_OK);
    return bytes;
}

static sw_status decode_metrics(const void *data, size_t size, struct arena *arena, void *ret,
                                sw_error *error) {
    return metrics_decode(data, size, arena, ret, error);
}
static sw_status decode_value(const void *data, size_t size, struct arena *arena, void *ret,
                              sw_error *error) {
    return value_decode(data, size, arena, ret, error);
}

Test(memory, decoding_values_without_it_says_so) {
    sw_buffer *bytes;
    sweep(decode_metrics, encoded_metrics());
    cr_assert_eq(value_encode(large_metrics(), false, &bytes, NULL, NULL), SW_OK);
    sweep(decode_value, bytes);
}

#define DECODER(name, type)                                                                                  \
    static sw_status sweep_##name(const void *data, size_t size, struct arena *arena, void *ret,             \
                                  sw_error *error) {                                                         \
        return name(data, size, arena, (type *)ret, error);                                                  \
    }
DECODER(get_metrics_request_decode, struct pull_request)
DECODER(publish_failure_request_decode, struct publish_failure_request)
DECODER(close_channel_request_decode, struct close_channel_request)
DECODER(stage_info_request_decode, const char *)
DECODER(health_request_decode, const char *)
DECODER(reflection_request_decode, struct reflection_request)
DECODER(stream_tensors_request_decode, struct pull_request)
DECODER(metrics_response_decode, struct metrics_response)
DECODER(publish_metrics_request_decode, struct publish_metrics_request)
DECODER(manifest_decode, struct manifest)
DECODER(release_request_decode, struct release_request)
DECODER(exchange_response_decode, struct exchange_response)
DECODER(attach_request_decode, sw_attachment)
DECODER(watch_request_decode, struct watch_request)
DECODER(watch_event_decode, struct watch_event)
DECODER(stage_info_decode, struct stage_info)

static sw_status sweep_exchange_request_decode(const void *data, size_t size, struct arena *arena, void *ret,
                                               sw_error *error) {
    sw_status status = exchange_request_decode(data, size, arena, ret, error);
    if (status == SW_OK) sw_buffer_unref(((struct exchange_request *)ret)->value_bytes);
    return status;
}

#define SWEEP(name, request)                                                                                 \
    do {                                                                                                     \
        sw_buffer *bytes;                                                                                    \
        cr_assert_eq(name##_encode(&request, &bytes, NULL), SW_OK);                                          \
        sweep(sweep_##name##_decode, bytes);                                                                 \
    } while (0)

Test(memory, decoding_requests_without_it_says_so) {
    enum { MANY = 300 };
    static struct tensor_info tensors[MANY];
    static char names[MANY][4];
    for (size_t i = 0; i < MANY; i++) {
        names[i][0] = (char)('a' + i / 26), names[i][1] = (char)('a' + i % 26);
        tensors[i] = (struct tensor_info){names[i], SW_U8, 0, NULL, 1, 0};
    }
    struct manifest manifest = full_manifest();
    SWEEP(manifest, manifest);
    manifest.tensors = tensors, manifest.tensor_count = MANY;
    SWEEP(manifest, manifest);
    struct pull_request pull = full_pull();
    SWEEP(stream_tensors_request, pull);
    SWEEP(get_metrics_request, pull);
    struct publish_failure_request failure = full_failure();
    SWEEP(publish_failure_request, failure);
    struct close_channel_request closing = full_close();
    SWEEP(close_channel_request, closing);
    struct release_request release = full_release();
    SWEEP(release_request, release);
    struct watch_request watch = full_watch();
    SWEEP(watch_request, watch);
}

Test(memory, decoding_questions_without_it_says_so) {
    sw_buffer *bytes;
    cr_assert_eq(stage_info_request_encode("token", &bytes, NULL), SW_OK);
    sweep(sweep_stage_info_request_decode, bytes);
    cr_assert_eq(health_request_encode("liveness", &bytes, NULL), SW_OK);
    sweep(sweep_health_request_decode, bytes);
    const char question[] = "\x0a\1h\x22\3a.b"; /* host, file_containing_symbol */
    void *data;
    cr_assert_eq(buffer_create(sizeof question - 1, &bytes, &data, NULL), SW_OK);
    memcpy(data, question, sizeof question - 1);
    sweep(sweep_reflection_request_decode, bytes);
}

Test(memory, decoding_many_policies_without_it_says_so) {
    enum { MANY = 200 };
    static sw_channel_policy policies[MANY];
    static char names[MANY][4];
    static const char *consumers[MANY];
    for (size_t i = 0; i < MANY; i++) {
        names[i][0] = (char)('a' + i / 26), names[i][1] = (char)('a' + i % 26);
        consumers[i] = names[i];
        policies[i] = (sw_channel_policy){
            .channel = names[i], .kind = SW_METRICS, .consumers = consumers, .consumer_count = i % 20};
    }
    sw_attachment request = full_attachment();
    request.policies = policies, request.policy_count = MANY;
    SWEEP(attach_request, request);
}

Test(memory, decoding_answers_without_it_says_so) {
    struct watch_event event = {.type = WATCH_CLOSED, .closed = full_closed()};
    SWEEP(watch_event, event);
    struct stage_info info = full_info();
    SWEEP(stage_info, info);
    struct exchange_request word = full_exchange();
    struct exchange_response answer = {.address = full_address(), .value_bytes = word.value_bytes};
    SWEEP(exchange_request, word);
    SWEEP(exchange_response, answer);
}

typedef size_t head_writer(const sw_address *address, int64_t published_unix_ns, size_t payload_size,
                           uint8_t *out);

static sw_buffer *with_head(head_writer *write_head) {
    sw_buffer *payload = encoded_metrics(), *bytes;
    sw_address address = full_address();
    uint8_t head[METRICS_HEAD_MAX];
    size_t size = write_head(&address, 5, sw_buffer_size(payload), head);
    void *data;
    cr_assert_eq(buffer_create(size + sw_buffer_size(payload), &bytes, &data, NULL), SW_OK);
    memcpy(data, head, size);
    memcpy((uint8_t *)data + size, sw_buffer_data(payload), sw_buffer_size(payload));
    sw_buffer_unref(payload);
    return bytes;
}

Test(memory, decoding_metrics_with_their_address_without_it_says_so) {
    sw_buffer *payload = encoded_metrics(), *bytes;
    sw_address address = full_address();
    cr_assert_eq(publish_metrics_request_encode(&address, payload, &bytes, NULL), SW_OK);
    sweep(sweep_publish_metrics_request_decode, bytes);
    sw_buffer_unref(payload);
    sweep(sweep_metrics_response_decode, with_head(metrics_response_head));
    sweep(sweep_watch_event_decode, with_head(watch_published_head));
}
