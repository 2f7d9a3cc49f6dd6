#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

static struct arena arena;
static sw_error error;

static void begin(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
}
static void end(void) {
    arena_destroy(&arena);
}
TestSuite(malformed, .init = begin, .fini = end);

static void expect_path(const char *path) {
    cr_assert_eq(error.reason, SW_REASON_MALFORMED, "%s: %s", path, error.message);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
    cr_assert_eq(strncmp(error.message, path, strlen(path)), 0, "%s", error.message);
}

/* Encodes, which checks nothing, then decodes; the rules must say the same about the struct itself. */
#define REFUSE(path, name, decode, request)                                                                  \
    do {                                                                                                     \
        sw_buffer *bytes;                                                                                    \
        uint8_t untouched[sizeof request];                                                                   \
        memset(untouched, 0x77, sizeof untouched);                                                           \
        cr_assert_eq(name##_encode(&request, &bytes, NULL), SW_OK);                                          \
        cr_assert_eq(                                                                                        \
            decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, (void *)untouched, &error),         \
            SW_INVALID_ARGUMENT, "%s", path);                                                                \
        expect_path(path);                                                                                   \
        cr_assert_eq(untouched[0], 0x77, "written only on success");                                         \
        cr_assert_eq(decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, (void *)untouched, NULL),  \
                     SW_INVALID_ARGUMENT);                                                                   \
        sw_buffer_unref(bytes);                                                                              \
    } while (0)
#define CHECK(path, check, request)                                                                          \
    do {                                                                                                     \
        cr_assert_eq(check(&request, &error), SW_INVALID_ARGUMENT, "%s", path);                              \
        expect_path(path);                                                                                   \
    } while (0)

static char long_name[SW_TENSOR_NAME_MAX + 2];

static const char *name_of(size_t size) {
    memset(long_name, 'n', size);
    long_name[size] = '\0';
    return long_name;
}

/* ---- addresses ---- */

static void refuse_pull(const char *path, struct pull_request request) {
    REFUSE(path, stream_tensors_request, stream_tensors_request_decode, request);
    CHECK(path, pull_request_check, request);
    if (request.range_count == 0) REFUSE(path, get_metrics_request, get_metrics_request_decode, request);
}

Test(malformed, a_channels_name_has_1_to_128_bytes_of_its_letters) {
    static const char *const names[] = {"",     "a b",  "ä", "a\n", "a*", "a:b",
                                        "\x7f", "a\\b", "@", "[",   "`",  "{"};
    struct pull_request request = full_pull(), back;
    request.range_count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        request.address.channel = names[i];
        refuse_pull("address.channel", request);
    }
    request.address.channel = name_of(129);
    refuse_pull("address.channel", request);
    request.address.channel = name_of(128);
    cr_assert_eq(pull_request_check(&request, &error), SW_OK);
    request.address.channel = NULL;
    refuse_pull("address.channel", request);
    cr_assert_eq(get_metrics_request_decode("", 0, &arena, &back, &error), SW_INVALID_ARGUMENT);
    expect_path("address.channel");
}

Test(malformed, a_runs_name_has_at_most_256_bytes) {
    struct pull_request request = full_pull();
    request.range_count = 0;
    request.address.run_id = name_of(257);
    refuse_pull("address.run_id", request);
    request.address.run_id = name_of(256);
    cr_assert_eq(pull_request_check(&request, &error), SW_OK);
}

Test(malformed, a_step_is_at_most_2_63_minus_1_where_it_counts) {
    struct pull_request request = full_pull();
    request.range_count = 0;
    request.address.step = UINT64_C(1) << 63;
    cr_assert_eq(pull_request_check(&request, &error), SW_OK, "the latest is pulled");
    request.latest = false;
    refuse_pull("address.step", request);
    struct publish_failure_request failure = full_failure();
    failure.address.step = UINT64_MAX;
    REFUSE("address.step", publish_failure_request, publish_failure_request_decode, failure);
    struct close_channel_request closing = full_close();
    closing.address.step = UINT64_MAX;
    cr_assert_eq(close_channel_request_check(&closing, &error), SW_OK, "closing ignores it");
    sw_address address = full_address();
    cr_assert_eq(publish_address_check(&address, &error), SW_OK);
    address.step = UINT64_MAX;
    CHECK("address.step", publish_address_check, address);
}

/* ---- pulls ---- */

Test(malformed, ids_and_names_in_a_pull_have_their_sizes) {
    struct pull_request request = full_pull();
    request.range_count = 0;
    request.consumer.id = name_of(LIMIT_CONSUMER_ID + 1);
    refuse_pull("consumer.id", request);
    const struct tensor_range ranges[] = {{"a", 0, 0}, {"", 0, 0}};
    request = full_pull();
    request.ranges = ranges, request.range_count = 2;
    refuse_pull("ranges[1].name", request);
    const struct tensor_range too_long = {name_of(513), 0, 0};
    request.ranges = &too_long, request.range_count = 1;
    refuse_pull("ranges[0].name", request);
}

/* ---- metrics ---- */

Test(malformed, published_metrics_need_a_name_and_metrics) {
    struct publish_metrics_request back;
    cr_assert_eq(publish_metrics_request_decode(BYTES(0x0a, 0x03, 0x2a, 0x01, 'x'), &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    expect_path("metrics");
    cr_assert_eq(publish_metrics_request_decode(BYTES(0x12, 0x02, 0x0a, 0x00), &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    expect_path("address.channel");
    cr_assert_eq(
        publish_metrics_request_decode(BYTES(0x0a, 0x03, 0x2a, 0x01, 'x', 0x12, 0x00), &arena, &back, &error),
        SW_INVALID_ARGUMENT);
    expect_path("metrics");
    cr_assert_eq(publish_metrics_request_decode(
                     BYTES(0x0a, 0x03, 0x2a, 0x01, 'x', 0x12, 0x02, 0x0a, 0x00, 0x12, 0x02, 0x0a, 0x00),
                     &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    expect_path("metrics");
    cr_assert_eq(
        publish_metrics_request_decode(BYTES(0x0a, 0x03, 0x2a, 0x01, 'x', 0x10, 0x00), &arena, &back, &error),
        SW_INVALID_ARGUMENT);
    expect_path("metrics");
    cr_assert_eq(publish_metrics_request_decode(BYTES(0x0a, 0x03, 0x2a, 0x01, 'x', 0x12, 0x09, 0x0a, 0x07,
                                                      0x0a, 0x05, 0x0a, 0x01, 'k', 0x12, 0x00),
                                                &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    expect_path("metrics.k");
}

/* ---- manifests ---- */

static void refuse_manifest(const char *path, struct manifest manifest) {
    REFUSE(path, manifest, manifest_decode, manifest);
    CHECK(path, manifest_check, manifest);
}

static void refuse_tensor(const char *path, struct tensor_info info) {
    const struct tensor_info infos[] = {{"first", SW_U8, 0, NULL, 1, 0}, info};
    struct manifest manifest = full_manifest();
    manifest.tensors = infos, manifest.tensor_count = 2;
    refuse_manifest(path, manifest);
}

Test(malformed, a_manifest_names_types_and_tensors_rightly) {
    struct manifest manifest = full_manifest();
    manifest.address.channel = "a b";
    refuse_manifest("address.channel", manifest);
    refuse_tensor("tensors[1].name", (struct tensor_info){"", SW_U8, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].name", (struct tensor_info){"__metadata__", SW_U8, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].name", (struct tensor_info){name_of(513), SW_U8, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].name", (struct tensor_info){"first", SW_U8, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].dtype", (struct tensor_info){"x", (sw_dtype)0, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].dtype", (struct tensor_info){"x", (sw_dtype)22, 0, NULL, 1, 0});
    refuse_tensor("tensors[1].dtype", (struct tensor_info){"x", (sw_dtype)-1, 0, NULL, 1, 0});
}

static const int64_t shapes[][3] = {
    {2, 3, 4}, {-1, 1, 1}, {INT64_MAX, 2, 0}, {INT64_C(1) << 32, INT64_C(1) << 31, 1}};

static const struct tensor_info wrong_sizes[] = {
    {"x", SW_F32, 3, shapes[0], 95, 0}, {"x", SW_F32, 3, shapes[0], 97, 0}, {"x", SW_F32, 0, NULL, 0, 0},
    {"x", SW_U8, 1, shapes[1], 1, 0},   {"x", SW_U8, 3, shapes[2], 0, 0},   {"x", SW_F32, 3, shapes[3], 0, 0},
};
static const char *const wrong_paths[] = {"tensors[1].byte_length", "tensors[1].byte_length",
                                          "tensors[1].byte_length", "tensors[1].shape",
                                          "tensors[1].shape",       "tensors[1].shape"};

Test(malformed, sizes_and_shapes_of_a_manifest_must_agree) {
    for (size_t i = 0; i < 6; i++) refuse_tensor(wrong_paths[i], wrong_sizes[i]);
    int64_t ones[17];
    for (int i = 0; i < 17; i++) ones[i] = 1;
    refuse_tensor("tensors[1].shape", (struct tensor_info){"x", SW_U8, 17, ones, 1, 0});
    struct manifest manifest = full_manifest();
    static const uint32_t blocks[] = {1, LIMIT_BLOCK_BYTES_MIN - 1, LIMIT_BLOCK_BYTES_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        manifest.block_bytes = blocks[i];
        refuse_manifest("block_bytes", manifest);
    }
}

Test(malformed, sizes_and_shapes_can_be_judged_later_than_names_and_types) {
    for (size_t i = 0; i < 6; i++) {
        const struct tensor_info infos[] = {{"first", SW_U8, 0, NULL, 1, 0}, wrong_sizes[i]};
        struct manifest manifest = full_manifest(), back;
        manifest.tensors = infos, manifest.tensor_count = 2;
        sw_buffer *bytes;
        cr_assert_eq(manifest_encode(&manifest, &bytes, NULL), SW_OK);
        cr_assert_eq(
            manifest_decode_names(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &back, &error),
            SW_OK);
        CHECK(wrong_paths[i], manifest_check_sizes, back);
        sw_buffer_unref(bytes);
    }
}

Test(malformed, many_tensors_have_unique_names_too) {
    enum { COUNT = 1000 };
    static char names[COUNT][8];
    static struct tensor_info infos[COUNT];
    struct manifest manifest = {
        .address = full_address(), .tensors = infos, .tensor_count = COUNT, .block_bytes = 4096};
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i);
        infos[i] = (struct tensor_info){names[i], SW_U8, 0, NULL, 1, 0};
    }
    cr_assert_eq(manifest_check(&manifest, &error), SW_OK);
    infos[900].name = names[17];
    refuse_manifest("tensors[900].name", manifest);
}

Test(malformed, more_tensors_than_an_item_may_have_are_too_large) {
    static struct tensor_info infos[LIMIT_ITEM_TENSORS + 1];
    for (size_t i = 0; i <= LIMIT_ITEM_TENSORS; i++)
        infos[i] = (struct tensor_info){"x", SW_U8, 0, NULL, 1, 0};
    struct manifest manifest = {.address = full_address(),
                                .tensors = infos,
                                .tensor_count = LIMIT_ITEM_TENSORS + 1},
                    back;
    sw_buffer *bytes;
    cr_assert_eq(manifest_encode(&manifest, &bytes, NULL), SW_OK);
    cr_assert_eq(manifest_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    sw_buffer_unref(bytes);
}

Test(malformed, a_stream_begins_with_a_manifest) {
    struct manifest back;
    cr_assert_eq(manifest_decode("", 0, &arena, &back, &error), SW_INVALID_ARGUMENT);
    expect_path("part");
    cr_assert_eq(manifest_decode(BYTES(0x12, 0x02, 0x08, 0x01), &arena, &back, &error), SW_INVALID_ARGUMENT);
    expect_path("part");
    cr_assert_eq(manifest_decode(BYTES(0x1a, 0x00), &arena, &back, &error), SW_INVALID_ARGUMENT);
    expect_path("part");
}

/* ---- failure, close, release ---- */

Test(malformed, kinds_and_reasons_are_set_and_known) {
    for (int kind = 0; kind <= 4; kind += 4) {
        struct publish_failure_request failure = full_failure();
        failure.kind = (sw_item_kind)kind;
        REFUSE("kind", publish_failure_request, publish_failure_request_decode, failure);
        CHECK("kind", publish_failure_request_check, failure);
        struct release_request release = full_release();
        release.kind = (sw_item_kind)kind;
        REFUSE("kind", release_request, release_request_decode, release);
        CHECK("kind", release_request_check, release);
        struct close_channel_request closing = full_close();
        closing.kind = (sw_item_kind)kind;
        closing.all = false;
        REFUSE("kind", close_channel_request, close_channel_request_decode, closing);
        CHECK("kind", close_channel_request_check, closing);
    }
    static const int reasons[] = {0, SW_CLOSE_PUBLISHER_LOST, SW_CLOSE_SUPERSEDED, 5, -1};
    for (size_t i = 0; i < 5; i++) {
        struct close_channel_request closing = full_close();
        closing.reason = (sw_close_reason)reasons[i];
        REFUSE("reason", close_channel_request, close_channel_request_decode, closing);
        CHECK("reason", close_channel_request_check, closing);
    }
}

Test(malformed, a_close_names_a_channel_or_says_all) {
    struct close_channel_request closing = full_close();
    closing.all = false;
    closing.address.channel = "";
    REFUSE("address.channel", close_channel_request, close_channel_request_decode, closing);
    closing.all = true;
    closing.address.channel = "a b";
    REFUSE("address.channel", close_channel_request, close_channel_request_decode, closing);
    closing.address.channel = "";
    closing.kind = (sw_item_kind)9;
    REFUSE("kind", close_channel_request, close_channel_request_decode, closing);
}

Test(malformed, whoever_releases_has_a_name) {
    const struct consumer_request consumers[] = {{"a", 1, false}, {"", 1, false}};
    struct release_request release = full_release();
    release.consumers = consumers, release.consumer_count = 2;
    REFUSE("consumers[1].id", release_request, release_request_decode, release);
    CHECK("consumers[1].id", release_request_check, release);
}

Test(malformed, messages_handed_in_are_utf8) {
    struct publish_failure_request failure = full_failure();
    failure.message = "\xff";
    CHECK("message", publish_failure_request_check, failure);
    struct close_channel_request closing = full_close();
    closing.message = "\xff";
    CHECK("message", close_channel_request_check, closing);
}

/* ---- exchange ---- */

#define REFUSE_WORD(path, request) REFUSE(path, exchange_request, exchange_request_decode, request)

Test(malformed, a_word_of_an_exchange_names_a_stage_below_its_count) {
    struct exchange_request request = full_exchange();
    request.address.has_stage = false;
    REFUSE_WORD("address.stage", request);
    request.address.has_stage = true;
    request.address.stage = 4;
    REFUSE_WORD("address.stage", request);
    CHECK("address.stage", exchange_request_check, request);
    request.stage_count = 0;
    REFUSE_WORD("stage_count", request);
    request.stage_count = LIMIT_STAGE_COUNT + 1;
    REFUSE_WORD("stage_count", request);
    request = full_exchange();
    request.address.channel = "";
    REFUSE_WORD("address.channel", request);
}

Test(malformed, present_and_value_must_agree) {
    struct exchange_request request = full_exchange();
    request.present = false;
    REFUSE_WORD("present", request);
    CHECK("present", exchange_request_check, request);
    request.present = true;
    request.value_bytes = NULL, request.value = NULL;
    REFUSE_WORD("value", request);
    CHECK("value", exchange_request_check, request);
}

Test(malformed, a_value_of_an_exchange_follows_the_rules_of_values) {
    struct exchange_request request = full_exchange();
    sw_buffer *wrong;
    void *data;
    cr_assert_eq(buffer_create(3, &wrong, &data, NULL), SW_OK);
    memcpy(data, (uint8_t[]){0x2a, 0x01, 0xff}, 3);
    request.value_bytes = wrong;
    REFUSE_WORD("value", request);
    sw_buffer_unref(wrong);
}

Test(malformed, a_value_of_an_exchange_beyond_a_message_is_too_large) {
    char *text = malloc(SW_MESSAGE_MAX);
    memset(text, 'x', SW_MESSAGE_MAX);
    sw_value value = {.kind = SW_VALUE_TEXT, .bytes = {text, SW_MESSAGE_MAX}};
    struct exchange_request request = full_exchange(), back;
    sw_buffer *bytes;
    cr_assert_eq(value_encode(&value, true, &request.value_bytes, NULL, NULL), SW_OK);
    cr_assert_eq(exchange_request_encode(&request, &bytes, NULL), SW_OK);
    cr_assert_eq(exchange_request_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    sw_buffer_unref(request.value_bytes);
    sw_buffer_unref(bytes);
    free(text);
}

/* ---- attach ---- */

static void refuse_attach(const char *path, sw_attachment request) {
    REFUSE(path, attach_request, attach_request_decode, request);
    CHECK(path, attach_request_check, request);
}

static void refuse_policy(const char *path, sw_channel_policy policy) {
    const sw_channel_policy policies[] = {{.channel = "first", .kind = SW_METRICS}, policy};
    sw_attachment request = full_attachment();
    request.policies = policies, request.policy_count = 2;
    refuse_attach(path, request);
}

Test(malformed, who_attaches_names_a_stage_below_its_count) {
    sw_attachment request = full_attachment();
    request.stage = 4;
    refuse_attach("stage", request);
    request.stage_count = 0;
    refuse_attach("stage_count", request);
    request = full_attachment();
    request.run_id = name_of(257);
    refuse_attach("run_id", request);
}

Test(malformed, policies_name_channels_and_consumers_rightly_and_once) {
    const char *empty[] = {"a", ""}, *twice[] = {"a", "b", "a"}, *far[] = {"a", name_of(257)};
    refuse_policy("policies[1].channel", (sw_channel_policy){.channel = "", .kind = SW_METRICS});
    refuse_policy("policies[1].kind", (sw_channel_policy){.channel = "x"});
    refuse_policy("policies[1].kind", (sw_channel_policy){.channel = "x", .kind = (sw_item_kind)4});
    refuse_policy("policies[1]", (sw_channel_policy){.channel = "first", .kind = SW_METRICS});
    refuse_policy(
        "policies[1].consumers[1]",
        (sw_channel_policy){.channel = "x", .kind = SW_METRICS, .consumers = empty, .consumer_count = 2});
    refuse_policy(
        "policies[1].consumers[2]",
        (sw_channel_policy){.channel = "x", .kind = SW_METRICS, .consumers = twice, .consumer_count = 3});
    refuse_policy(
        "policies[1].consumers[1]",
        (sw_channel_policy){.channel = "x", .kind = SW_METRICS, .consumers = far, .consumer_count = 2});
    sw_attachment request = full_attachment();
    cr_assert_eq(attach_request_check(&request, &error), SW_OK);
}

/* ---- watch ---- */

static void refuse_watch(const char *path, struct watch_request request) {
    REFUSE(path, watch_request, watch_request_decode, request);
    CHECK(path, watch_request_check, request);
}

Test(malformed, a_star_stands_at_the_end_of_a_filter_only) {
    static const char *const wrong[] = {"", "*a", "a*b", "**", "ä*", "a b"};
    struct watch_request request = full_watch();
    for (size_t i = 0; i < 6; i++) {
        const char *channels[] = {"ok", wrong[i]};
        const struct channel_filter filters[] = {{0}, {.channels = channels, .channel_count = 2}};
        request.filters = filters, request.filter_count = 2;
        refuse_watch("filters[1].channels[1]", request);
    }
    const char *longest = name_of(129);
    long_name[128] = '*';
    struct channel_filter filter = {.channels = &longest, .channel_count = 1};
    request.filters = &filter, request.filter_count = 1;
    cr_assert_eq(watch_request_check(&request, &error), SW_OK);
    name_of(130);
    long_name[129] = '*';
    refuse_watch("filters[0].channels[0]", request);
    name_of(400);
    long_name[399] = '*';
    refuse_watch("filters[0].channels[0]", request);
}

Test(malformed, positions_name_stage_channel_and_generation_each_channel_once) {
    struct watch_request request = full_watch();
    sw_address positions[] = {full_address(), full_address()};
    request.positions = positions;
    refuse_watch("positions[1]", request);
    positions[1].has_stage = false;
    refuse_watch("positions[1].stage", request);
    positions[1] = full_address(), positions[1].generation = 0;
    refuse_watch("positions[1].generation", request);
    positions[1] = full_address(), positions[1].channel = "";
    refuse_watch("positions[1].channel", request);
    positions[1] = full_address(), positions[1].step = UINT64_MAX;
    refuse_watch("positions[1].step", request);
    positions[1] = full_address(), positions[1].group = 0;
    cr_assert_eq(watch_request_check(&request, &error), SW_OK);
    request.start = (enum watch_start)4;
    refuse_watch("start", request);
}

/* ---- what clients receive ---- */

static void refuse_event(const char *path, struct watch_event event) {
    sw_buffer *bytes;
    struct watch_event back;
    cr_assert_eq(watch_event_encode(&event, &bytes, NULL), SW_OK);
    cr_assert_eq(watch_event_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &back, &error),
                 SW_INVALID_ARGUMENT);
    expect_path(path);
    sw_buffer_unref(bytes);
}

Test(malformed, events_name_what_they_are_about) {
    struct watch_event event = {.type = WATCH_FAILED};
    refuse_event("failed.address.channel", event);
    event.type = WATCH_GAP;
    refuse_event("gap.first_missing.channel", event);
    event.gap.first_missing = full_address(), event.gap.has_next = true;
    refuse_event("gap.next_held.channel", event);
    event.type = WATCH_CLOSED;
    refuse_event("closed.last.channel", event);
    event.closed = full_closed(), event.closed.last.has_stage = false;
    refuse_event("closed.last.stage", event);
    event.closed = full_closed(), event.closed.kind = (sw_item_kind)0;
    refuse_event("closed.kind", event);
    event.closed = full_closed(), event.closed.reason = (sw_close_reason)5;
    refuse_event("closed.reason", event);
    struct watch_event back;
    cr_assert_eq(watch_event_decode("", 0, &arena, &back, &error), SW_INVALID_ARGUMENT);
    expect_path("event");
}

Test(malformed, responses_name_what_they_are_about) {
    struct metrics_response metrics;
    struct exchange_response exchange;
    struct stage_info info = full_info();
    cr_assert_eq(metrics_response_decode("", 0, &arena, &metrics, &error), SW_INVALID_ARGUMENT);
    expect_path("address.channel");
    cr_assert_eq(exchange_response_decode("", 0, &arena, &exchange, &error), SW_INVALID_ARGUMENT);
    expect_path("address.channel");
    struct channel_info channel = info.channels[0];
    channel.kind = (sw_item_kind)0;
    info.channels = &channel, info.channel_count = 1;
    REFUSE("channels[0].kind", stage_info, stage_info_decode, info);
    channel = full_info().channels[0], channel.latest.channel = "";
    REFUSE("channels[0].latest.channel", stage_info, stage_info_decode, info);
    channel = full_info().channels[0], channel.closed.last.channel = "";
    REFUSE("channels[0].closed.last.channel", stage_info, stage_info_decode, info);
}

/* ---- bytes that are no such message ---- */

static void refuse_release_bytes(const char *path, const uint8_t *data, size_t size) {
    struct release_request back;
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    cr_assert_eq(release_request_decode(exact, size, &arena, &back, &error), SW_INVALID_ARGUMENT, "%s", path);
    expect_path(path);
    free(exact);
}

Test(malformed, bytes_that_are_no_message_are_told_where) {
    refuse_release_bytes("ReleaseRequest", BYTES(0x0a));
    refuse_release_bytes("ReleaseRequest", BYTES(0x0a, 0x05, 0x00));
    refuse_release_bytes("ReleaseRequest", BYTES(0x0b));
    refuse_release_bytes("ReleaseRequest", BYTES(0x00));
    refuse_release_bytes("address", BYTES(0x0a, 0x01, 0x0a));
    refuse_release_bytes("address", BYTES(0x08, 0x01));
    refuse_release_bytes("kind", BYTES(0x12, 0x00));
    refuse_release_bytes("kind", BYTES(0x10, 0x80, 0x80, 0x80, 0x80, 0x10));
    refuse_release_bytes("address.group", BYTES(0x0a, 0x06, 0x20, 0x80, 0x80, 0x80, 0x80, 0x10));
    refuse_release_bytes("address.channel", BYTES(0x0a, 0x03, 0x2a, 0x01, 0xff));
    refuse_release_bytes("address.channel", BYTES(0x0a, 0x05, 0x2a, 0x03, 'a', 0x00, 'b'));
    refuse_release_bytes("address.run_id", BYTES(0x0a, 0x03, 0x0a, 0x01, 0x00));
    refuse_release_bytes("consumers[1].id", BYTES(0x1a, 0x00, 0x1a, 0x04, 0x0a, 0x02, 0xc0, 0x80));
    refuse_release_bytes("consumers[0].release_below", BYTES(0x1a, 0x02, 0x12, 0x00));
    sw_attachment attachment;
    cr_assert_eq(
        attach_request_decode(BYTES(0x32, 0x05, 0x22, 0x00, 0x22, 0x01, 0xff), &arena, &attachment, &error),
        SW_INVALID_ARGUMENT);
    expect_path("policies[0].consumers[1]");
    struct watch_request watch;
    cr_assert_eq(watch_request_decode(BYTES(0x12, 0x04, 0x0a, 0x02, 0x01, 0x80), &arena, &watch, &error),
                 SW_INVALID_ARGUMENT);
    expect_path("filters[0].stages[0]");
}

Test(malformed, numbers_may_come_packed_or_not_and_unknown_fields_are_skipped) {
    struct watch_request watch;
    const uint8_t loose[] = {0x12, 0x07, 0x08, 0x05, 0x08, 0x06, 0x0a, 0x01,
                             0x07, 0x7a, 0x02, 'x',  'y',  0x78, 0x01};
    cr_assert_eq(watch_request_decode(loose, sizeof loose, &arena, &watch, &error), SW_OK, "%s",
                 error.message);
    cr_assert_eq(watch.filters[0].stage_count, 3);
    cr_assert_eq(watch.filters[0].stages[1], 6);
    cr_assert_eq(watch.filters[0].stages[2], 7);
}

Test(malformed, more_fields_than_any_message_needs_are_refused) {
    size_t count = LIMIT_DECODE_FIELDS + 1;
    uint8_t *data = malloc(2 * count);
    for (size_t i = 0; i < count; i++) memcpy(data + 2 * i, (uint8_t[]){0x10, 0x01}, 2);
    refuse_release_bytes("ReleaseRequest", data, 2 * count);
    free(data);
}

Test(malformed, many_small_parts_end_at_the_budget) {
    size_t count = 900000;
    uint8_t *data = malloc(2 * count);
    for (size_t i = 0; i < count; i++) memcpy(data + 2 * i, (uint8_t[]){0x1a, 0x00}, 2);
    struct release_request back;
    cr_assert_eq(release_request_decode(data, 2 * count, &arena, &back, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
    cr_assert_leq(arena.used, LIMIT_DECODE_BYTES);
    free(data);
}
