/* Garbage in, an error out: every decoder over messages that were changed at random, with fixed seeds. */
#include <stdlib.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/wire/health.h"
#include "proto/wire/reflection.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

#define ROUNDS (20000 / TEST_LESS)

static struct arena arena;
static unsigned state = 1;

static unsigned roll(unsigned sides) {
    state = state * 1103515245u + 12345u;
    return (state >> 16) % sides;
}

/* Flips, overwrites, cuts out, doubles. Returns a block of exact size, so that AddressSanitizer sees a byte
 * too far. */
static uint8_t *change(const uint8_t *data, size_t size, size_t *ret_size) {
    uint8_t *out = malloc(2 * size + 1);
    memcpy(out, data, size);
    for (unsigned changes = 1 + roll(4); changes > 0 && size > 0; changes--) {
        size_t at = roll((unsigned)size), length = roll((unsigned)(size - at) + 1);
        switch (roll(6)) {
        case 0:
            out[at] ^= (uint8_t)(1u << roll(8));
            break;
        case 1:
            out[at] = (uint8_t)roll(256);
            break;
        case 2:
            out[at] = roll(2) ? 0xff : 0x80;
            break;
        case 3:
            memmove(out + at, out + at + length, size - at - length);
            size -= length;
            break;
        case 4:
            size = at;
            break;
        case 5:
            memcpy(out + at, data, length < at ? length : at);
            break;
        }
    }
    *ret_size = size;
    return realloc(out, size ? size : 1);
}

typedef sw_status decoder(const uint8_t *data, size_t size, sw_error *error);

static void fuzz(decoder *decode, const sw_buffer *seed, unsigned rounds) {
    unsigned understood = 0;
    for (unsigned round = 0; round < rounds; round++) {
        size_t size;
        sw_error error = {0};
        uint8_t *data = change(sw_buffer_data(seed), sw_buffer_size(seed), &size);
        arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
        sw_status status = decode(data, size, &error);
        arena_destroy(&arena);
        free(data);
        understood += status == SW_OK;
        if (status == SW_OK) continue;
        cr_assert_eq(status, SW_INVALID_ARGUMENT, "%s", error.message);
        cr_assert(error.reason == SW_REASON_MALFORMED || error.reason == SW_REASON_TOO_LARGE);
    }
    cr_assert_gt(understood, 0, "some changes leave a message");
    cr_assert_lt(understood, rounds, "and some don't");
}

/* What was understood can be sent on, and is understood again. */
static sw_status fuzz_metrics(const uint8_t *data, size_t size, sw_error *error) {
    const sw_value *value, *again;
    sw_buffer *bytes;
    struct digest digest;
    sw_status status = metrics_decode(data, size, &arena, &value, error);
    if (status != SW_OK) return status;
    cr_assert_eq(metrics_encode(value, true, &bytes, &digest, error), SW_OK, "%s", error->message);
    cr_assert_eq(metrics_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &again, error), SW_OK);
    cr_assert(values_identical(value, again));
    cr_assert(digest_equal(digest, value_digest(again)));
    sw_buffer_unref(bytes);
    return SW_OK;
}

Test(fuzz, metrics) {
    sw_buffer *bytes;
    cr_assert_eq(metrics_encode(every_kind(), false, &bytes, NULL, NULL), SW_OK);
    fuzz(fuzz_metrics, bytes, ROUNDS);
    sw_buffer_unref(bytes);
    for (unsigned seed = 1; seed <= 300 / TEST_LESS; seed++) {
        struct arena values;
        arena_init(&values, &allocator_system, LIMIT_DECODE_BYTES);
        cr_assert_eq(metrics_encode(random_metrics(&values, seed + 7, 40), false, &bytes, NULL, NULL), SW_OK);
        if (sw_buffer_size(bytes) > 8) fuzz(fuzz_metrics, bytes, 300);
        sw_buffer_unref(bytes);
        arena_destroy(&values);
    }
}

static sw_status fuzz_exchange(const uint8_t *data, size_t size, sw_error *error) {
    struct exchange_request back;
    sw_status status = exchange_request_decode(data, size, &arena, &back, error);
    if (status == SW_OK) sw_buffer_unref(back.value_bytes);
    return status;
}

#define FUZZ(name, type, request)                                                                            \
    static sw_status fuzz_##name(const uint8_t *data, size_t size, sw_error *error) {                        \
        type back;                                                                                           \
        return name##_decode(data, size, &arena, &back, error);                                              \
    }                                                                                                        \
    Test(fuzz, name) {                                                                                       \
        sw_buffer *bytes;                                                                                    \
        type seed = request;                                                                                 \
        cr_assert_eq(name##_encode(&seed, &bytes, NULL), SW_OK);                                             \
        fuzz(fuzz_##name, bytes, ROUNDS);                                                                    \
        sw_buffer_unref(bytes);                                                                              \
    }

#define EVENT(kind, ...) ((struct watch_event){.type = kind, __VA_ARGS__})

FUZZ(get_metrics_request, struct pull_request, full_pull())
FUZZ(stream_tensors_request, struct pull_request, full_pull())
FUZZ(manifest, struct manifest, full_manifest())
FUZZ(publish_failure_request, struct publish_failure_request, full_failure())
FUZZ(close_channel_request, struct close_channel_request, full_close())
FUZZ(release_request, struct release_request, full_release())
FUZZ(attach_request, sw_attachment, full_attachment())
FUZZ(watch_request, struct watch_request, full_watch())
FUZZ(watch_event, struct watch_event, EVENT(WATCH_CLOSED, .closed = full_closed()))
FUZZ(stage_info, struct stage_info, full_info())

Test(fuzz, exchange) {
    struct exchange_request request = full_exchange();
    sw_buffer *bytes;
    cr_assert_eq(exchange_request_encode(&request, &bytes, NULL), SW_OK);
    fuzz(fuzz_exchange, bytes, ROUNDS);
    sw_buffer_unref(bytes);
}

static sw_status fuzz_health(const uint8_t *data, size_t size, sw_error *error) {
    const char *service;
    return health_request_decode(data, size, &arena, &service, error);
}

Test(fuzz, health) {
    sw_buffer *bytes;
    cr_assert_eq(health_request_encode("stagewire.v1.StageService", &bytes, NULL), SW_OK);
    fuzz(fuzz_health, bytes, ROUNDS);
    sw_buffer_unref(bytes);
}

/* What was understood is sent back with its answer. */
static sw_status fuzz_reflection(const uint8_t *data, size_t size, sw_error *error) {
    const struct reflection_answer answer = {.kind = REFLECTION_ERROR};
    struct reflection_request request;
    sw_buffer *bytes;
    sw_status status = reflection_request_decode(data, size, &arena, &request, error);
    if (status != SW_OK) return status;
    cr_assert_eq(reflection_answer_encode(&request, &answer, &bytes, error), SW_OK);
    sw_buffer_unref(bytes);
    return SW_OK;
}

Test(fuzz, reflection) {
    static const char seed[] = "\x0a\x04host\x2a\x08\x0a\x04type\x10\x07";
    sw_buffer *bytes;
    void *data;
    cr_assert_eq(buffer_create(sizeof seed - 1, &bytes, &data, NULL), SW_OK);
    memcpy(data, seed, sizeof seed - 1);
    fuzz(fuzz_reflection, bytes, ROUNDS);
    sw_buffer_unref(bytes);
}

static sw_status fuzz_publish(const uint8_t *data, size_t size, sw_error *error) {
    struct publish_metrics_request back;
    return publish_metrics_request_decode(data, size, &arena, &back, error);
}

Test(fuzz, publish_metrics) {
    sw_buffer *payload, *bytes;
    sw_address address = full_address();
    cr_assert_eq(metrics_encode(every_kind(), false, &payload, NULL, NULL), SW_OK);
    cr_assert_eq(publish_metrics_request_encode(&address, payload, &bytes, NULL), SW_OK);
    fuzz(fuzz_publish, bytes, ROUNDS);
    sw_buffer_unref(payload);
    sw_buffer_unref(bytes);
}

Test(fuzz, bytes_that_never_were_a_message) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = roll(64);
        uint8_t *data = malloc(size ? size : 1);
        for (size_t i = 0; i < size; i++) data[i] = (uint8_t)roll(256);
        sw_error error;
        arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
        fuzz_metrics(data, size, &error);
        fuzz_exchange(data, size, &error);
        fuzz_watch_event(data, size, &error);
        fuzz_attach_request(data, size, &error);
        status_details_decode(data, size, &error);
        arena_destroy(&arena);
        free(data);
    }
}
