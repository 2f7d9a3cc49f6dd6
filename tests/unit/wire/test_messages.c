#include <stdlib.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/requests.h"
#include "tests/unit/wire/values.h"

static struct arena arena;
static sw_buffer *bytes;
static sw_error error;

static void begin(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
}
static void end(void) {
    arena_destroy(&arena);
    sw_buffer_unref(bytes);
}
TestSuite(messages, .init = begin, .fini = end);

/* What is decoded lies in the arena: the bytes are overwritten before it is looked at. */
#define DECODE(decode, ...)                                                                                  \
    do {                                                                                                     \
        size_t decoded_size = sw_buffer_size(bytes);                                                         \
        uint8_t *copy = malloc(decoded_size ? decoded_size : 1);                                             \
        memcpy(copy, sw_buffer_data(bytes), decoded_size);                                                   \
        cr_assert_eq(decode(copy, decoded_size, __VA_ARGS__, &error), SW_OK, "%s", error.message);           \
        memset(copy, 0xee, decoded_size);                                                                    \
        free(copy);                                                                                          \
    } while (0)

static void expect_address(const sw_address *actual) {
    sw_address expected = full_address();
    cr_assert(addresses_equal(actual, &expected));
}

Test(messages, a_pull_of_metrics_comes_back_the_same) {
    struct pull_request request = full_pull(), back;
    cr_assert_eq(get_metrics_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(get_metrics_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert(back.latest);
    cr_assert(back.wait.no_wait);
    cr_assert_eq(back.wait.wait_ms, 1500);
    cr_assert_str_eq(back.consumer.id, "rank-1");
    cr_assert_eq(back.consumer.release_below, 77);
    cr_assert(back.consumer.ends_pins);
    cr_assert_eq(back.range_count, 0);
}

Test(messages, a_pull_of_tensors_comes_back_the_same) {
    struct pull_request request = full_pull(), back;
    cr_assert_eq(stream_tensors_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(stream_tensors_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.range_count, 3);
    cr_assert_str_eq(back.ranges[1].name, "损失");
    cr_assert_eq(back.ranges[0].first_block, 5);
    cr_assert_eq(back.ranges[1].block_count, UINT64_MAX);
    cr_assert(back.manifest_only);
    cr_assert_eq(back.pin, UINT64_MAX);
    cr_assert_eq(back.hand_over, 8);
    cr_assert_eq(back.byte_limit, UINT64_MAX);
}

Test(messages, what_a_pull_leaves_out_is_zero_or_empty) {
    struct pull_request request = {.address = {.channel = "x"}}, back;
    cr_assert_eq(stream_tensors_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(stream_tensors_request_decode, &arena, &back);
    cr_assert_not(back.address.has_stage);
    cr_assert_str_eq(back.address.run_id, "");
    cr_assert_str_eq(back.consumer.id, "");
    cr_assert_not(back.wait.no_wait);
    cr_assert_eq(back.range_count, 0);
    const uint8_t bare[] = {0x0a, 0x03, 0x2a, 0x01, 'x'};
    cr_assert_eq(get_metrics_request_decode(bare, sizeof bare, &arena, &back, &error), SW_OK);
    cr_assert_str_eq(back.consumer.id, "");
}

Test(messages, stage_0_is_a_stage) {
    struct pull_request request = {.address = {.channel = "x", .has_stage = true}}, back;
    cr_assert_eq(get_metrics_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(get_metrics_request_decode, &arena, &back);
    cr_assert(back.address.has_stage);
}

static void encode_payload(sw_buffer **payload) {
    cr_assert_eq(metrics_encode(every_kind(), false, payload, NULL, &error), SW_OK);
}

Test(messages, metrics_follow_the_head_of_their_response) {
    sw_buffer *payload;
    encode_payload(&payload);
    sw_address address = full_address();
    void *data;
    size_t size = sw_buffer_size(payload);
    cr_assert_eq(buffer_create(METRICS_HEAD_MAX + size, &bytes, &data, NULL), SW_OK);
    size_t head = metrics_response_head(&address, INT64_MIN, size, data);
    cr_assert_leq(head, METRICS_HEAD_MAX);
    memcpy((uint8_t *)data + head, sw_buffer_data(payload), size);
    struct metrics_response back;
    cr_assert_eq(metrics_response_decode(data, head + size, &arena, &back, &error), SW_OK, "%s",
                 error.message);
    expect_address(&back.address);
    cr_assert_eq(back.published_unix_ns, INT64_MIN);
    cr_assert(values_identical(back.metrics, every_kind()));
    sw_buffer_unref(payload);
}

Test(messages, a_watched_item_follows_its_head) {
    sw_buffer *payload;
    encode_payload(&payload);
    sw_address address = full_address();
    void *data;
    size_t size = sw_buffer_size(payload);
    cr_assert_eq(buffer_create(METRICS_HEAD_MAX + size, &bytes, &data, NULL), SW_OK);
    size_t head = watch_published_head(&address, 5, size, data);
    memcpy((uint8_t *)data + head, sw_buffer_data(payload), size);
    struct watch_event back;
    cr_assert_eq(watch_event_decode(data, head + size, &arena, &back, &error), SW_OK, "%s", error.message);
    cr_assert_eq(back.type, WATCH_PUBLISHED);
    expect_address(&back.published.address);
    cr_assert(values_identical(back.published.metrics, every_kind()));
    sw_buffer_unref(payload);
}

Test(messages, a_head_of_the_longest_names_fits) {
    char run[SW_RUN_ID_MAX + 1], channel[SW_CHANNEL_MAX + 1];
    memset(run, 'r', sizeof run), memset(channel, 'c', sizeof channel);
    run[SW_RUN_ID_MAX] = channel[SW_CHANNEL_MAX] = '\0';
    sw_address address = {run, UINT64_MAX, true, UINT32_MAX, UINT32_MAX, channel, UINT64_MAX, UINT32_MAX};
    uint8_t head[METRICS_HEAD_MAX];
    cr_assert_leq(watch_published_head(&address, -1, UINT32_MAX, head), METRICS_HEAD_MAX / 2);
}

Test(messages, published_metrics_come_back_the_same) {
    sw_buffer *payload;
    encode_payload(&payload);
    sw_address address = full_address();
    struct publish_metrics_request back;
    cr_assert_eq(publish_metrics_request_encode(&address, payload, &bytes, &error), SW_OK);
    DECODE(publish_metrics_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert(values_identical(back.metrics, every_kind()));
    sw_buffer_unref(payload);
}

Test(messages, more_than_a_message_may_hold_is_still_read_so_that_it_can_be_refused) {
    char *text = malloc(5u << 20);
    memset(text, 'x', 5u << 20);
    const sw_entry entry = {sw_text_of("t"), {.kind = SW_VALUE_TEXT, .bytes = {text, 5u << 20}}};
    const sw_value dict = sw_dict(&entry, 1);
    sw_buffer *payload;
    sw_address address = full_address();
    struct publish_metrics_request back;
    cr_assert_eq(metrics_encode(&dict, true, &payload, NULL, &error), SW_OK);
    cr_assert_eq(publish_metrics_request_encode(&address, payload, &bytes, &error), SW_OK);
    DECODE(publish_metrics_request_decode, &arena, &back);
    cr_assert(values_identical(back.metrics, &dict));
    sw_buffer_unref(payload);
    free(text);
}

Test(messages, a_published_response_says_whether_it_was_there_already) {
    bool duplicate = false;
    cr_assert_eq(published_response_encode(true, &bytes, &error), SW_OK);
    DECODE(published_response_decode, &duplicate);
    cr_assert(duplicate);
    sw_buffer_unref(bytes);
    cr_assert_eq(published_response_encode(false, &bytes, &error), SW_OK);
    cr_assert_eq(sw_buffer_size(bytes), 0);
    DECODE(published_response_decode, &duplicate);
    cr_assert_not(duplicate);
    sw_buffer_unref(bytes);
    cr_assert_eq(empty_response_encode(&bytes, &error), SW_OK);
    cr_assert_eq(sw_buffer_size(bytes), 0);
}

Test(messages, a_manifest_comes_back_the_same) {
    struct manifest manifest = full_manifest(), back;
    cr_assert_eq(manifest_encode(&manifest, &bytes, &error), SW_OK);
    DECODE(manifest_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.tensor_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct tensor_info *a = &manifest.tensors[i], *b = &back.tensors[i];
        cr_assert_str_eq(a->name, b->name);
        cr_assert_eq(a->dtype, b->dtype);
        cr_assert_eq(a->rank, b->rank);
        for (uint32_t d = 0; d < a->rank; d++) cr_assert_eq(a->shape[d], b->shape[d]);
        cr_assert_eq(a->byte_length, b->byte_length);
        cr_assert_eq(a->digest, b->digest);
    }
    cr_assert_eq(back.block_bytes, 4096);
    cr_assert_eq(back.published_unix_ns, -5);
    cr_assert_eq(back.pin, 9);
    cr_assert_eq(back.via_count, 2);
    cr_assert_str_eq(back.via[1], "relay-b");
    cr_assert_eq(manifest_bytes(&back), 6016);
    cr_assert_eq(manifest_check(&manifest, &error), SW_OK);
}

Test(messages, a_manifest_may_have_no_tensors_and_leave_out_its_block_size) {
    struct manifest manifest = {.address = {.channel = "x"}}, back;
    cr_assert_eq(manifest_encode(&manifest, &bytes, &error), SW_OK);
    DECODE(manifest_decode, &arena, &back);
    cr_assert_eq(back.tensor_count, 0);
    cr_assert_eq(back.block_bytes, LIMIT_BLOCK_BYTES);
    cr_assert_eq(manifest_bytes(&back), 0);
}

Test(messages, every_dtype_and_rank_comes_back_in_a_manifest) {
    int64_t shape[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int dtype = 1; dtype <= 21; dtype++) {
        for (uint32_t rank = 0; rank <= 16; rank++) {
            struct tensor_info info = {"t", (sw_dtype)dtype, rank, shape, sw_dtype_size((sw_dtype)dtype), 0};
            struct manifest manifest = {.address = {.channel = "x"}, .tensor_count = 1, .tensors = &info},
                            back;
            cr_assert_eq(manifest_encode(&manifest, &bytes, &error), SW_OK);
            DECODE(manifest_decode, &arena, &back);
            cr_assert_eq((int)back.tensors[0].dtype, dtype);
            cr_assert_eq(back.tensors[0].rank, rank);
            sw_buffer_unref(bytes);
            bytes = NULL;
        }
    }
}

Test(messages, a_sum_of_lengths_does_not_wrap) {
    const struct tensor_info infos[] = {
        {.byte_length = INT64_MAX}, {.byte_length = INT64_MAX}, {.byte_length = 2}};
    struct manifest manifest = {.tensor_count = 3, .tensors = infos};
    cr_assert_eq(manifest_bytes(&manifest), UINT64_MAX);
}

Test(messages, a_failure_comes_back_the_same) {
    struct publish_failure_request request = full_failure(), back;
    cr_assert_eq(publish_failure_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(publish_failure_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.kind, SW_TENSORS);
    cr_assert_str_eq(back.message, "损失 is NaN");
}

Test(messages, a_close_comes_back_the_same) {
    struct close_channel_request request = full_close(), back;
    cr_assert_eq(close_channel_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(close_channel_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.kind, SW_METRICS);
    cr_assert(back.all);
    cr_assert_eq(back.reason, SW_CLOSE_ABORTED);
    cr_assert_str_eq(back.message, "why");
}

Test(messages, a_close_of_all_needs_neither_channel_nor_kind) {
    struct close_channel_request request = {.all = true, .reason = SW_CLOSE_FINISHED}, back;
    cr_assert_eq(close_channel_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(close_channel_request_decode, &arena, &back);
    cr_assert_eq((int)back.kind, 0);
    cr_assert_str_eq(back.address.channel, "");
    const uint8_t bare[] = {0x18, 0x01, 0x20, 0x01};
    cr_assert_eq(close_channel_request_decode(bare, sizeof bare, &arena, &back, &error), SW_OK,
                 "no address at all");
}

Test(messages, a_release_comes_back_the_same) {
    struct release_request request = full_release(), back;
    request.address.step = UINT64_MAX; /* ignored */
    cr_assert_eq(release_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(release_request_decode, &arena, &back);
    cr_assert_eq(back.kind, SW_OBJECT);
    cr_assert_eq(back.consumer_count, 3);
    cr_assert_str_eq(back.consumers[1].id, "b");
    cr_assert_eq(back.consumers[1].release_below, UINT64_MAX);
    cr_assert(back.consumers[1].ends_pins);
    cr_assert_not(back.consumers[0].ends_pins);
}

Test(messages, a_word_of_an_exchange_comes_back_with_its_value_and_digest) {
    struct exchange_request request = full_exchange(), back;
    cr_assert_eq(exchange_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(exchange_request_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.stage_count, 4);
    cr_assert(back.present);
    cr_assert(back.wait.no_wait);
    cr_assert_eq(back.wait.wait_ms, 9);
    cr_assert(values_identical(back.value, request.value));
    cr_assert(digest_equal(back.value_digest, request.value_digest));
    cr_assert_eq(sw_buffer_size(back.value_bytes), sw_buffer_size(request.value_bytes));
    cr_assert_eq(memcmp(sw_buffer_data(back.value_bytes), sw_buffer_data(request.value_bytes),
                        sw_buffer_size(back.value_bytes)),
                 0);
    sw_buffer_unref(back.value_bytes);
}

Test(messages, a_word_without_an_object_has_no_value_and_a_null_is_one) {
    struct exchange_request request = {.address = full_address(), .stage_count = 3}, back;
    cr_assert_eq(exchange_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(exchange_request_decode, &arena, &back);
    cr_assert_not(back.present);
    cr_assert_null(back.value);
    cr_assert_null(back.value_bytes);
    sw_buffer_unref(bytes);
    const sw_value null = sw_null();
    request.present = true;
    cr_assert_eq(value_encode(&null, false, &request.value_bytes, NULL, NULL), SW_OK);
    cr_assert_eq(exchange_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(exchange_request_decode, &arena, &back);
    cr_assert_eq(back.value->kind, SW_VALUE_NULL);
    sw_buffer_unref(back.value_bytes);
    sw_buffer_unref(request.value_bytes);
}

Test(messages, the_answer_of_an_exchange_comes_back_the_same) {
    const uint32_t owners[] = {0, 7, UINT32_MAX};
    struct exchange_request word = full_exchange();
    struct exchange_response response = {full_address(), owners, 3, NULL, word.value_bytes}, back;
    cr_assert_eq(exchange_response_encode(&response, &bytes, &error), SW_OK);
    DECODE(exchange_response_decode, &arena, &back);
    expect_address(&back.address);
    cr_assert_eq(back.owner_count, 3);
    cr_assert_eq(memcmp(back.owners, owners, sizeof owners), 0);
    cr_assert(values_identical(back.value, word.value));
    sw_buffer_unref(bytes);
    response = (struct exchange_response){.address = full_address()};
    cr_assert_eq(exchange_response_encode(&response, &bytes, &error), SW_OK);
    DECODE(exchange_response_decode, &arena, &back);
    cr_assert_null(back.value);
    cr_assert_eq(back.owner_count, 0);
}

Test(messages, an_attach_comes_back_the_same) {
    sw_attachment request = full_attachment(), back;
    cr_assert_eq(attach_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(attach_request_decode, &arena, &back);
    cr_assert_str_eq(back.run_id, "run-a");
    cr_assert_eq(back.generation, 2);
    cr_assert_eq(back.stage, 3);
    cr_assert_eq(back.stage_count, 4);
    cr_assert_eq(back.group, 1);
    cr_assert_eq(back.policy_count, 2);
    const sw_channel_policy *policy = &back.policies[0];
    cr_assert_str_eq(policy->channel, "train");
    cr_assert_eq(policy->kind, SW_METRICS);
    cr_assert_eq(policy->keep_steps, 5);
    cr_assert_eq(policy->consumer_count, 2);
    cr_assert_str_eq(policy->consumers[1], "b");
    cr_assert_eq(policy->max_lag_steps, 64);
    cr_assert_eq(policy->next_step, UINT64_MAX);
    uint64_t generation = 0;
    sw_buffer_unref(bytes);
    cr_assert_eq(attach_response_encode(UINT64_MAX, &bytes, &error), SW_OK);
    DECODE(attach_response_decode, &generation);
    cr_assert_eq(generation, UINT64_MAX);
}

Test(messages, a_watch_comes_back_the_same) {
    struct watch_request request = full_watch(), back;
    cr_assert_eq(watch_request_encode(&request, &bytes, &error), SW_OK);
    DECODE(watch_request_decode, &arena, &back);
    cr_assert_str_eq(back.run_id, "run-a");
    cr_assert_eq(back.filter_count, 2);
    cr_assert_eq(back.filters[0].stage_count, 2);
    cr_assert_eq(back.filters[0].stages[1], 2);
    cr_assert_eq(back.filters[0].groups[0], 0);
    cr_assert_eq(back.filters[0].channel_count, 3);
    cr_assert_str_eq(back.filters[0].channels[1], "tr*");
    cr_assert_eq(back.filters[1].channel_count, 0);
    cr_assert_eq(back.start, WATCH_POSITIONS);
    cr_assert_eq(back.position_count, 2);
    expect_address(&back.positions[0]);
    cr_assert_eq(back.positions[1].stage, 4);
    cr_assert_eq(watch_request_decode("", 0, &arena, &back, &error), SW_OK);
    cr_assert_eq(back.start, WATCH_NEW, "without a start");
}

static void event_there_and_back(const struct watch_event *event, struct watch_event *back) {
    sw_buffer_unref(bytes);
    bytes = NULL;
    cr_assert_eq(watch_event_encode(event, &bytes, &error), SW_OK);
    DECODE(watch_event_decode, &arena, back);
    cr_assert_eq(back->type, event->type);
}

Test(messages, events_come_back_the_same) {
    struct watch_event back, event = {.type = WATCH_FAILED, .failed = {full_address(), "why"}};
    event_there_and_back(&event, &back);
    expect_address(&back.failed.address);
    cr_assert_str_eq(back.failed.message, "why");
    event = (struct watch_event){.type = WATCH_GAP, .gap = {full_address(), true, full_address()}};
    event_there_and_back(&event, &back);
    expect_address(&back.gap.first_missing);
    cr_assert(back.gap.has_next);
    expect_address(&back.gap.next_held);
    event.gap.has_next = false;
    event_there_and_back(&event, &back);
    cr_assert_not(back.gap.has_next);
    event = (struct watch_event){.type = WATCH_CLOSED, .closed = full_closed()};
    event_there_and_back(&event, &back);
    expect_address(&back.closed.last);
    cr_assert_eq(back.closed.reason, SW_CLOSE_PUBLISHER_LOST);
    cr_assert_eq(back.closed.items, 7);
    event = (struct watch_event){.type = WATCH_GENERATION, .generation = 5};
    event_there_and_back(&event, &back);
    cr_assert_eq(back.generation, 5);
    event = (struct watch_event){.type = WATCH_HEARTBEAT, .heartbeat_unix_ns = -5};
    event_there_and_back(&event, &back);
    cr_assert_eq(back.heartbeat_unix_ns, -5);
    event.type = WATCH_PUBLISHED;
    cr_assert_eq(watch_event_encode(&event, &bytes, &error), SW_INVALID_ARGUMENT);
}

Test(messages, an_endpoints_information_comes_back_the_same) {
    struct stage_info info = full_info(), back;
    cr_assert_eq(stage_info_encode(&info, &bytes, &error), SW_OK);
    DECODE(stage_info_decode, &arena, &back);
    cr_assert_str_eq(back.run_id, "run-a");
    cr_assert_eq(back.lease_count, 2);
    cr_assert(back.leases[1].lost);
    cr_assert_eq(back.leases[1].group, 1);
    cr_assert_str_eq(back.version, "0.1.0");
    cr_assert_str_eq(back.features[1], "x");
    cr_assert_str_eq(back.next_page_token, "next");
    cr_assert_eq(back.incarnation, UINT64_MAX);
    cr_assert_eq(memcmp(&back.load, &info.load, sizeof back.load), 0);
    cr_assert_str_eq(back.caller.identity, "spiffe://a/b");
    cr_assert_eq(back.caller.right_count, 2);
    cr_assert_str_eq(back.caller.rights[1], "pull");
    cr_assert_eq(back.caller.consumer_count, 1);
    cr_assert_str_eq(back.caller.consumers[0], "stage-*");
    cr_assert_eq(back.warning_count, 1);
    cr_assert_str_eq(back.warnings[0], "careful");
    cr_assert(back.security.tls && back.security.insecure_plaintext);
    cr_assert_str_eq(back.security.name, "spiffe://d/a");
    cr_assert_str_eq(back.security.issuer, "CN = ca");
    cr_assert_str_eq(back.security.sha256, "00ff");
    cr_assert_str_eq(back.security.error, "is empty");
    cr_assert_eq(back.security.not_after_s, -1);
    cr_assert_eq(back.security.taken_s, INT64_MAX);
    cr_assert_eq(back.security.failed_s, 3);
    cr_assert_eq(back.security.taken, 4);
    cr_assert_eq(back.security.failed, 5);
    cr_assert(back.hand_over.is_open);
    cr_assert_eq(back.hand_over.connections, 1);
    cr_assert_eq(back.hand_over.waiting, 2);
    cr_assert_eq(back.hand_over.tensors_in, 3);
    cr_assert_eq(back.hand_over.bytes_in, 4);
    cr_assert_eq(back.hand_over.tensors_out, 5);
    cr_assert_eq(back.hand_over.bytes_out, 6);
    const struct channel_info *channel = &back.channels[0];
    cr_assert(channel->has_items);
    expect_address(&channel->oldest);
    expect_address(&channel->latest);
    cr_assert_eq(channel->kind, SW_TENSORS);
    cr_assert_eq(channel->consumers[0].release_below, 5);
    cr_assert(channel->is_closed);
    cr_assert_str_eq(channel->closed.message, "gone");
    cr_assert_not(back.channels[1].has_items);
    cr_assert_str_eq(back.channels[1].latest.channel, full_address().channel);
    cr_assert_not(back.channels[1].is_closed);
}

Test(messages, the_question_for_information_comes_back_the_same) {
    const char *token;
    cr_assert_eq(stage_info_request_encode("page 2", &bytes, &error), SW_OK);
    DECODE(stage_info_request_decode, &arena, &token);
    cr_assert_str_eq(token, "page 2");
    cr_assert_eq(stage_info_request_decode(NULL, 0, &arena, &token, &error), SW_OK);
    cr_assert_str_eq(token, "");
}
