/* Our encoding beside that of Google's protobuf, which tests/golden/beside_google.py runs: what it builds by
 * the names of stage.proto is what we write to the byte, and what we write it understands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

static char folder[] = "/tmp/stagewire-google-XXXXXX";
static FILE *questions, *answers;
static struct arena arena;
static sw_error error;

static const char *in_folder(const char *name) {
    static char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void begin(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    if (!mkdtemp(folder)) abort();
    questions = fopen(in_folder("questions"), "wb");
}

static void end(void) {
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (answers) fclose(answers);
    if (system(command) != 0) abort();
    arena_destroy(&arena);
}
TestSuite(google, .init = begin, .fini = end, .timeout = 60);

static void write_string(const void *data, size_t size) {
    uint8_t length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), (uint8_t)(size >> 24)};
    fwrite(length, 1, sizeof length, questions);
    fwrite(data, 1, size, questions);
}

static void ask(char letter, const char *name, const void *data, size_t size) {
    fputc(letter, questions);
    write_string(name, strlen(name));
    write_string(data, size);
}

static void run_google(void) {
    char command[4096];
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s' %s/questions %s/answers", BESIDE_GOOGLE,
             STAGE_PROTO, folder, folder);
    fclose(questions);
    cr_assert_eq(system(command), 0, "%s", command);
    answers = fopen(in_folder("answers"), "rb");
    cr_assert_not_null(answers);
}

static uint8_t answer_bytes[8u << 20];

static size_t next_answer(void) {
    uint8_t length[4];
    cr_assert_eq(fread(length, 1, 4, answers), 4);
    size_t size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    cr_assert_leq(size, sizeof answer_bytes);
    cr_assert_eq(fread(answer_bytes, 1, size, answers), size);
    return size;
}

/* ---- what Google builds is what we write ---- */

static sw_buffer *expected[32];
static const char *expected_names[32];
static size_t expected_count;

static void expect(const char *name, sw_buffer *bytes) {
    ask('B', name, "", 0);
    expected_names[expected_count] = name;
    expected[expected_count++] = bytes;
}

#define EXPECT(name, encode, request)                                                                        \
    do {                                                                                                     \
        sw_buffer *bytes;                                                                                    \
        cr_assert_eq(encode(&request, &bytes, NULL), SW_OK);                                                 \
        expect(name, bytes);                                                                                 \
    } while (0)

static void expect_requests(void) {
    struct pull_request pull = full_pull();
    struct manifest manifest = full_manifest();
    struct publish_failure_request failure = full_failure();
    struct close_channel_request closing = full_close();
    struct release_request release = full_release();
    sw_attachment attachment = full_attachment();
    struct watch_request watch = full_watch();
    EXPECT("get_metrics_request", get_metrics_request_encode, pull);
    EXPECT("stream_tensors_request", stream_tensors_request_encode, pull);
    EXPECT("manifest", manifest_encode, manifest);
    EXPECT("publish_failure_request", publish_failure_request_encode, failure);
    EXPECT("close_channel_request", close_channel_request_encode, closing);
    EXPECT("release_request", release_request_encode, release);
    EXPECT("attach_request", attach_request_encode, attachment);
    EXPECT("watch_request", watch_request_encode, watch);
}

static void expect_answers(void) {
    struct stage_info info = full_info();
    struct watch_event closed = {.type = WATCH_CLOSED, .closed = full_closed()};
    struct watch_event failed = {.type = WATCH_FAILED, .failed = {full_address(), "why"}};
    struct watch_event gap = {.type = WATCH_GAP, .gap = {full_address(), true, full_address()}};
    struct watch_event generation = {.type = WATCH_GENERATION, .generation = 5};
    struct watch_event heartbeat = {.type = WATCH_HEARTBEAT, .heartbeat_unix_ns = -5};
    EXPECT("stage_info", stage_info_encode, info);
    EXPECT("event_closed", watch_event_encode, closed);
    EXPECT("event_failed", watch_event_encode, failed);
    EXPECT("event_gap", watch_event_encode, gap);
    EXPECT("event_generation", watch_event_encode, generation);
    EXPECT("event_heartbeat", watch_event_encode, heartbeat);
    const uint32_t owners[] = {0, 7, UINT32_MAX};
    struct exchange_response answer = {full_address(), owners, 3, NULL, full_exchange().value_bytes};
    EXPECT("exchange_response", exchange_response_encode, answer);
}

static void expect_dtypes(void) {
    static const int64_t empty[] = {0};
    struct tensor_info tensors[21];
    for (int i = 0; i < 21; i++)
        tensors[i] =
            (struct tensor_info){sw_dtype_name((sw_dtype)(i + 1)), (sw_dtype)(i + 1), 1, empty, 0, 0};
    struct manifest manifest = {.address = full_address(), .tensors = tensors, .tensor_count = 21};
    EXPECT("dtypes", manifest_encode, manifest);
}

Test(google, what_it_builds_by_name_is_what_we_write_to_the_byte) {
    expect_requests();
    expect_answers();
    expect_dtypes();
    run_google();
    for (size_t i = 0; i < expected_count; i++) {
        size_t size = next_answer();
        cr_assert_eq(size, sw_buffer_size(expected[i]), "%s", expected_names[i]);
        cr_assert_eq(memcmp(answer_bytes, sw_buffer_data(expected[i]), size), 0, "%s", expected_names[i]);
        sw_buffer_unref(expected[i]);
    }
}

Test(google, what_it_builds_with_values_is_what_we_mean) {
    struct metrics_response response;
    struct publish_metrics_request publish;
    struct watch_event event;
    struct exchange_request exchange;
    sw_address address = full_address();
    const sw_value *metrics;
    ask('B', "metrics", "", 0), ask('B', "metrics_response", "", 0),
        ask('B', "publish_metrics_request", "", 0);
    ask('B', "published_event", "", 0), ask('B', "exchange_request", "", 0);
    run_google();
    cr_assert_eq(metrics_decode(answer_bytes, next_answer(), &arena, &metrics, &error), SW_OK, "%s",
                 error.message);
    cr_assert(value_same(metrics, every_kind()));
    cr_assert_eq(metrics_response_decode(answer_bytes, next_answer(), &arena, &response, &error), SW_OK);
    cr_assert(value_same(response.metrics, every_kind()));
    cr_assert(addresses_equal(&response.address, &address));
    cr_assert_eq(response.published_unix_ns, -1);
    cr_assert_eq(publish_metrics_request_decode(answer_bytes, next_answer(), &arena, &publish, &error),
                 SW_OK);
    cr_assert(value_same(publish.metrics, every_kind()));
    cr_assert(addresses_equal(&publish.address, &address));
    cr_assert_eq(watch_event_decode(answer_bytes, next_answer(), &arena, &event, &error), SW_OK);
    cr_assert(value_same(event.published.metrics, every_kind()));
    cr_assert_eq(exchange_request_decode(answer_bytes, next_answer(), &arena, &exchange, &error), SW_OK);
    cr_assert(digest_equal(exchange.value_digest, full_exchange().value_digest));
    cr_assert_eq(exchange.stage_count, 4);
    cr_assert(exchange.present);
    sw_buffer_unref(exchange.value_bytes);
}

/* ---- what we write is what Google understands ---- */

static void ask_metrics(const sw_value *metrics) {
    sw_buffer *bytes;
    cr_assert_eq(metrics_encode(metrics, false, &bytes, NULL, NULL), SW_OK);
    ask('P', "LossMetrics", sw_buffer_data(bytes), sw_buffer_size(bytes));
    sw_buffer_unref(bytes);
}

static void expect_metrics(const sw_value *metrics) {
    const sw_value *back;
    cr_assert_eq(metrics_decode(answer_bytes, next_answer(), &arena, &back, &error), SW_OK, "%s",
                 error.message);
    cr_assert(value_same(metrics, back));
}

Test(google, it_understands_every_value_that_we_write) {
    enum { RANDOM = 400 };
    const sw_value shapes[] = {sw_list(NULL, 0), sw_dict(NULL, 0), sw_list(every_kind(), 1)};
    static const sw_value *values[RANDOM];
    for (int i = 0; i < 3; i++) ask_metrics(&shapes[i]);
    for (unsigned i = 0; i < RANDOM; i++) ask_metrics(values[i] = random_metrics(&arena, 1000 + i, 40));
    run_google();
    for (int i = 0; i < 3; i++) expect_metrics(&shapes[i]);
    for (unsigned i = 0; i < RANDOM; i++) expect_metrics(values[i]);
}

static void ask_with_head(const char *type, size_t (*head)(const sw_address *, int64_t, size_t, uint8_t *)) {
    static uint8_t data[METRICS_HEAD_MAX + 65536];
    sw_address address = full_address();
    sw_buffer *payload;
    cr_assert_eq(metrics_encode(every_kind(), false, &payload, NULL, NULL), SW_OK);
    size_t size = head(&address, 77, sw_buffer_size(payload), data);
    memcpy(data + size, sw_buffer_data(payload), sw_buffer_size(payload));
    ask('P', type, data, size + sw_buffer_size(payload));
    sw_buffer_unref(payload);
}

Test(google, it_understands_metrics_behind_their_head) {
    struct metrics_response response;
    struct watch_event event;
    sw_address address = full_address();
    ask_with_head("GetLossMetricsResponse", metrics_response_head);
    ask_with_head("WatchLossMetricsResponse", watch_published_head);
    run_google();
    cr_assert_eq(metrics_response_decode(answer_bytes, next_answer(), &arena, &response, &error), SW_OK);
    cr_assert(value_same(response.metrics, every_kind()));
    cr_assert(addresses_equal(&response.address, &address));
    cr_assert_eq(response.published_unix_ns, 77);
    cr_assert_eq(watch_event_decode(answer_bytes, next_answer(), &arena, &event, &error), SW_OK);
    cr_assert(value_same(event.published.metrics, every_kind()));
    cr_assert_eq(event.published.published_unix_ns, 77);
}
