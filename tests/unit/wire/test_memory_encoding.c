/* Allocation failure, swept, where memory comes from the system: encoders, and what checks a request that was
 * handed in. malloc and its like are wrapped for this program. */
#include <stdlib.h>
#include <string.h>

#include "proto/wire/health.h"
#include "proto/wire/reflection.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

static long left = -1; /* allocations that succeed; below 0: all do */
static bool failed;

static bool fails(void) {
    if (left < 0) return false;
    if (left > 0) {
        left--;
        return false;
    }
    failed = true;
    return true;
}

void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* What needs memory; `ret` stays NULL where it makes no buffer. */
typedef sw_status needs_memory(sw_buffer **ret, sw_error *error);

static void sweep(needs_memory *call) {
    for (long n = 0;; n++) {
        sw_buffer *made = NULL;
        sw_error error = {0};
        failed = false, left = n;
        sw_status status = call(&made, &error);
        left = -1;
        if (status == SW_OK) {
            cr_assert(!failed && n > 0, "it takes memory");
            sw_buffer_unref(made);
            return;
        }
        cr_assert(failed, "%s", error.message);
        cr_assert_null(made, "written only on success");
        cr_assert_eq(status, SW_RESOURCE_EXHAUSTED, "%s", error.message);
        cr_assert_eq(error.reason, SW_REASON_LIMIT);
        cr_assert_str_eq(sw_error_metadata(&error, "limit"), "memory");
        cr_assert_lt(n, 10000);
    }
}

#define ENCODER(name, type, request)                                                                         \
    static sw_status encode_##name(sw_buffer **ret, sw_error *error) {                                       \
        type message = request;                                                                              \
        return name##_encode(&message, ret, error);                                                          \
    }
#define EVENT(kind, ...) ((struct watch_event){.type = kind, ##__VA_ARGS__})

ENCODER(get_metrics_request, struct pull_request, full_pull())
ENCODER(stream_tensors_request, struct pull_request, full_pull())
ENCODER(manifest, struct manifest, full_manifest())
ENCODER(publish_failure_request, struct publish_failure_request, full_failure())
ENCODER(close_channel_request, struct close_channel_request, full_close())
ENCODER(release_request, struct release_request, full_release())
ENCODER(exchange_request, struct exchange_request, full_exchange())
ENCODER(attach_request, sw_attachment, full_attachment())
ENCODER(watch_request, struct watch_request, full_watch())
ENCODER(watch_event, struct watch_event, EVENT(WATCH_CLOSED, .closed = full_closed()))
ENCODER(stage_info, struct stage_info, full_info())

static sw_status encode_published(sw_buffer **ret, sw_error *error) {
    return published_response_encode(true, ret, error);
}
static sw_status encode_nothing(sw_buffer **ret, sw_error *error) {
    return empty_response_encode(ret, error);
}
static sw_status encode_attached(sw_buffer **ret, sw_error *error) {
    return attach_response_encode(3, ret, error);
}
static sw_status encode_token(sw_buffer **ret, sw_error *error) {
    return stage_info_request_encode("token", ret, error);
}
static sw_status encode_exchanged(sw_buffer **ret, sw_error *error) {
    static const uint32_t owners[] = {1, 2};
    struct exchange_response message = {.address = full_address(), .owners = owners, .owner_count = 2};
    return exchange_response_encode(&message, ret, error);
}
static sw_status encode_details(sw_buffer **ret, sw_error *error) {
    const sw_error about = {.code = SW_ABORTED, .reason = SW_REASON_SUPERSEDED, .message = "it is over"};
    return status_details_encode(&about, ret, error);
}
static sw_status encode_health(sw_buffer **ret, sw_error *error) {
    return health_response_encode(HEALTH_SERVING, ret, error);
}
static sw_status encode_health_list(sw_buffer **ret, sw_error *error) {
    static const struct health_entry entries[] = {{"a", HEALTH_SERVING}, {"b", HEALTH_NOT_SERVING}};
    return health_list_encode(entries, 2, ret, error);
}
static sw_status encode_reflection(sw_buffer **ret, sw_error *error) {
    static const char *const services[] = {"a.A", "b.B"};
    const struct reflection_request request = {.host = "h", .question = REFLECTION_SERVICES, .name = ""};
    const struct reflection_answer answer = {.kind = REFLECTION_NAMES, .services = services, .count = 2};
    return reflection_answer_encode(&request, &answer, ret, error);
}

Test(memory_encoding, a_message_without_it_says_so_and_leaves_nothing) {
    static needs_memory *const encoders[] = {
        encode_get_metrics_request,
        encode_stream_tensors_request,
        encode_manifest,
        encode_publish_failure_request,
        encode_close_channel_request,
        encode_release_request,
        encode_exchange_request,
        encode_attach_request,
        encode_watch_request,
        encode_watch_event,
        encode_stage_info,
        encode_published,
        encode_nothing,
        encode_attached,
        encode_token,
        encode_exchanged,
        encode_details,
        encode_health,
        encode_health_list,
        encode_reflection,
    };
    full_exchange(); /* which keeps what it makes */
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) sweep(encoders[i]);
}

static sw_status encode_metrics(sw_buffer **ret, sw_error *error) {
    return metrics_encode(every_kind(), false, ret, NULL, error);
}
static sw_status encode_value(sw_buffer **ret, sw_error *error) {
    return value_encode(every_kind(), false, ret, NULL, error);
}
static sw_status encode_publish(sw_buffer **ret, sw_error *error) {
    sw_buffer *payload;
    sw_address address = full_address();
    sw_status status = metrics_encode(every_kind(), false, &payload, NULL, error);
    if (status != SW_OK) return status;
    status = publish_metrics_request_encode(&address, payload, ret, error);
    sw_buffer_unref(payload);
    return status;
}

Test(memory_encoding, a_value_without_it_says_so_and_leaves_nothing) {
    sweep(encode_metrics);
    sweep(encode_value);
    sweep(encode_publish);
}

static sw_status check_attachment(sw_buffer **ret, sw_error *error) {
    (void)ret;
    sw_attachment request = full_attachment();
    return attach_request_check(&request, error);
}
static sw_status check_watch(sw_buffer **ret, sw_error *error) {
    (void)ret;
    struct watch_request request = full_watch();
    return watch_request_check(&request, error);
}
static sw_status check_manifest(sw_buffer **ret, sw_error *error) {
    (void)ret;
    struct manifest manifest = full_manifest();
    return manifest_check(&manifest, error);
}

Test(memory_encoding, checking_what_was_handed_in_without_it_says_so) {
    sweep(check_attachment);
    sweep(check_watch);
    sweep(check_manifest);
}

static sw_buffer *message;

static sw_status decode_published(sw_buffer **ret, sw_error *error) {
    bool duplicate;
    (void)ret;
    return published_response_decode(sw_buffer_data(message), sw_buffer_size(message), &duplicate, error);
}
static sw_status decode_attached(sw_buffer **ret, sw_error *error) {
    uint64_t generation;
    (void)ret;
    return attach_response_decode(sw_buffer_data(message), sw_buffer_size(message), &generation, error);
}
static sw_status decode_health(sw_buffer **ret, sw_error *error) {
    enum health_status health;
    (void)ret;
    return health_response_decode(sw_buffer_data(message), sw_buffer_size(message), &health, error);
}

Test(memory_encoding, small_answers_that_bring_their_own_arena_say_so) {
    static const struct {
        needs_memory *encode, *decode;
    } answers[] = {{encode_published, decode_published},
                   {encode_attached, decode_attached},
                   {encode_health, decode_health}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        cr_assert_eq(answers[i].encode(&message, NULL), SW_OK);
        sweep(answers[i].decode);
        sw_buffer_unref(message);
    }
}
