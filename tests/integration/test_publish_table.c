/* Every row of the contract's publish table, provoked through a real daemon over a real socket, and the rows'
 * order. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "tests/support/scene.h"
#include "tests/support/test.h"

#define UNIT (512u << 10)

static struct scene s;

static void close_scene(void) {
    scene_close(&s);
}
static void open_scene(void) {
    scene_open(&s, NULL);
}
static void open_small(void) {
    scene_open(&s, "--store-bytes", "2m", "--metrics-bytes", "64k", NULL);
}

TestSuite(publish_table, .init = open_scene, .fini = close_scene, .timeout = 60);
TestSuite(publish_room, .init = open_small, .fini = close_scene, .timeout = 60);

/* ---- malformed ---- */

Test(publish_table, a_channel_name_outside_the_alphabet_is_malformed_and_the_path_says_where) {
    scene_publish(&s, AT("bad name", 0), 1);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "address.channel");
}

Test(publish_table, a_step_beyond_2_63_minus_1_is_malformed) {
    scene_publish(&s, AT("train", 1ull << 63), 1);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "address.step");
}

static sw_buffer *bytes_of(const void *data, size_t size) {
    sw_buffer *buffer;
    void *memory;
    cr_assert(sw_buffer_create(size, &buffer, &memory, NULL) == SW_OK);
    memcpy(memory, data, size);
    return buffer;
}

Test(publish_table, a_key_twice_is_malformed_and_the_path_names_it) {
    /* address {channel "t"}, metrics {single {v: true, v: true}} */
    const uint8_t request[] = {0x0a, 3, 0x2a, 1, 't',  0x12, 20,   0x0a, 18,  0x0a, 7, 0x0a, 1, 'v',
                               0x12, 2, 0x10, 1, 0x0a, 7,    0x0a, 1,    'v', 0x12, 2, 0x10, 1};
    raw_unary(s.raw, RAW_PUBLISHER("PublishLossMetrics"), bytes_of(request, sizeof request), 5000, NULL,
              &s.error);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "metrics.v");
}

Test(publish_table, a_value_of_no_kind_is_malformed) {
    /* metrics {single {v: <unset>}} */
    const uint8_t request[] = {0x0a, 3, 0x2a, 1, 't', 0x12, 9, 0x0a, 7, 0x0a, 5, 0x0a, 1, 'v', 0x12, 0};
    raw_unary(s.raw, RAW_PUBLISHER("PublishLossMetrics"), bytes_of(request, sizeof request), 5000, NULL,
              &s.error);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "metrics.v");
}

Test(publish_table, a_request_that_is_no_protobuf_is_malformed) {
    raw_unary(s.raw, RAW_PUBLISHER("PublishLossMetrics"), bytes_of("\xff\xff\xff", 3), 5000, NULL, &s.error);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
}

Test(publish_table, a_failure_without_a_kind_is_malformed) {
    scene_fail(&s, AT("train", 0), 0, "boom");
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "kind");
}

Test(publish_table, a_close_without_a_channel_needs_all) {
    scene_close_channel(&s, AT("", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_PUBLISHER_LOST, "");
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "reason");
}

/* ---- run, generation ---- */

Test(publish_table, another_run_is_a_run_mismatch) {
    scene_publish(&s, AT("train", 0, .run_id = "run-b"), 1);
    expect_error(&s, FAILED_PRECONDITION, RUN_MISMATCH);
    expect_words(&s, "run-a", "run-b");
}

Test(publish_table, an_older_generation_is_stale_and_the_current_one_is_named) {
    struct raw_call *lease = scene_attach(&s, 3, NULL, 0);
    scene_publish(&s, AT("train", 0, .generation = 2), 1);
    expect_error(&s, FAILED_PRECONDITION, STALE_GENERATION);
    expect_metadata(&s, "generation", "3");
    expect_words(&s, "stage 3", "train", "2");
    scene_detach(lease);
}

Test(publish_table, a_newer_generation_needs_attach) {
    scene_publish(&s, AT("train", 0), 1);
    scene_publish(&s, AT("train", 1, .generation = 2), 1);
    expect_error(&s, FAILED_PRECONDITION, NOT_ATTACHED);
    expect_words(&s, "ttach");
}

Test(publish_table, the_first_publish_with_0_or_1_begins_generation_1) {
    scene_publish(&s, AT("train", 0, .generation = 2), 1);
    expect_error(&s, FAILED_PRECONDITION, NOT_ATTACHED);
    scene_publish(&s, AT("train", 0, .generation = 1), 1);
    expect_ok(&s);
}

/* ---- what stands there already ---- */

Test(publish_table, the_same_content_again_is_a_duplicate) {
    scene_publish(&s, AT("train", 4), 7);
    cr_assert(!s.duplicate);
    scene_publish(&s, AT("train", 4), 7);
    expect_ok(&s);
    cr_assert(s.duplicate);
}

Test(publish_table, sameness_ignores_the_order_of_a_dict_and_looks_at_the_bits_of_doubles) {
    const sw_value ab =
        sw_dict((sw_entry[]){{sw_text_of("a"), sw_number(0.0)}, {sw_text_of("b"), sw_integer(1)}}, 2);
    const sw_value ba =
        sw_dict((sw_entry[]){{sw_text_of("b"), sw_integer(1)}, {sw_text_of("a"), sw_number(0.0)}}, 2);
    const sw_value negative =
        sw_dict((sw_entry[]){{sw_text_of("a"), sw_number(-0.0)}, {sw_text_of("b"), sw_integer(1)}}, 2);
    scene_publish_value(&s, AT("train", 0), &ab);
    scene_publish_value(&s, AT("train", 0), &ba);
    expect_ok(&s);
    cr_assert(s.duplicate);
    scene_publish_value(&s, AT("train", 0), &negative);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
}

Test(publish_table, other_content_at_a_published_address_is_a_conflict) {
    scene_publish(&s, AT("train", 4), 7);
    scene_publish(&s, AT("train", 4), 8);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
    expect_words(&s, "stage 3", "train", "step 4");
}

Test(publish_table, an_item_where_a_failure_is_and_a_failure_where_an_item_is_are_conflicts) {
    scene_fail(&s, AT("train", 4), SW_METRICS, "nan");
    scene_publish(&s, AT("train", 4), 8);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
    scene_publish(&s, AT("train", 5), 8);
    scene_fail(&s, AT("train", 5), SW_METRICS, "nan");
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
    scene_fail(&s, AT("train", 4), SW_METRICS, "nan");
    expect_ok(&s);
    cr_assert(s.duplicate);
    scene_fail(&s, AT("train", 4), SW_METRICS, "inf");
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
}

Test(publish_table, a_retry_after_eviction_is_still_a_duplicate) {
    scene_close(&s);
    scene_open(&s, "--keep-steps", "1", NULL);
    for (uint64_t step = 0; step < 10; step++) scene_publish(&s, AT("train", step), (int64_t)step);
    cr_assert(scene_get(&s, AT("train", 3), NULL) != SW_OK);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    scene_publish(&s, AT("train", 3), 3);
    expect_ok(&s);
    cr_assert(s.duplicate);
    scene_publish(&s, AT("train", 3), 99);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
}

Test(publish_table, a_tensor_again_is_hashed_and_dropped_and_answered_at_the_end) {
    scene_publish_tensor(&s, AT("logits", 0), 3 * UNIT / 2, 5);
    expect_ok(&s);
    scene_publish_tensor(&s, AT("logits", 0), 3 * UNIT / 2, 5);
    expect_ok(&s);
    cr_assert(s.duplicate);
    scene_publish_tensor(&s, AT("logits", 0), 3 * UNIT / 2, 6);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
}

/* ---- order within the channel ---- */

Test(publish_table, below_the_latest_step_went_back) {
    scene_publish(&s, AT("train", 4, .call = 1), 1);
    scene_publish(&s, AT("train", 4, .call = 0), 1);
    expect_error(&s, FAILED_PRECONDITION, STEP_WENT_BACK);
    expect_metadata(&s, "latest", "4/1");
    scene_publish(&s, AT("train", 3, .call = 7), 1);
    expect_error(&s, FAILED_PRECONDITION, STEP_WENT_BACK);
    expect_words(&s, "stage 3", "train", "step 3");
}

Test(publish_table, below_the_policys_next_step_went_back) {
    sw_channel_policy policy = {.channel = "train", .kind = SW_METRICS, .next_step = 100};
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    scene_publish(&s, AT("train", 99), 1);
    expect_error(&s, FAILED_PRECONDITION, STEP_WENT_BACK);
    scene_publish(&s, AT("train", 100), 1);
    expect_ok(&s);
    scene_detach(lease);
}

Test(publish_table, metrics_tensors_and_objects_of_one_name_are_separate_channels) {
    scene_publish(&s, AT("train", 9), 1);
    scene_publish_tensor(&s, AT("train", 2), 16, 1);
    expect_ok(&s);
}

Test(publish_table, a_closed_channel_takes_nothing) {
    scene_publish(&s, AT("train", 0), 1);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    expect_ok(&s);
    scene_publish(&s, AT("train", 1), 1);
    expect_error(&s, FAILED_PRECONDITION, CHANNEL_CLOSED);
    expect_words(&s, "stage 3", "train");
    scene_publish(&s, AT("train", 0), 1);
    expect_ok(&s);
    cr_assert(s.duplicate, "the same content again comes before the closing");
}

Test(publish_table, closing_again_the_same_way_is_ok_and_another_way_is_a_conflict) {
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_ABORTED, "diverged");
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_ABORTED, "diverged");
    expect_ok(&s);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
}

Test(publish_table, all_closes_channels_never_seen_too) {
    scene_close_channel(&s, AT("", 0), 0, true, SW_CLOSE_FINISHED, "");
    expect_ok(&s);
    scene_publish(&s, AT("never-seen", 0), 1);
    expect_error(&s, FAILED_PRECONDITION, CHANNEL_CLOSED);
    scene_publish(&s, AT("never-seen", 0, .group = 1), 1);
    expect_ok(&s);
}

Test(publish_table, another_tensor_publish_of_the_channel_is_in_progress) {
    struct raw_call *first = scene_open_tensor(&s, AT("logits", 0), 2 * UNIT);
    raw_send(first, scene_chunk(0, UNIT, 1, 0));
    scene_publish_tensor(&s, AT("logits", 1), UNIT, 1);
    expect_error(&s, ABORTED, PUBLISH_IN_PROGRESS);
    raw_send(first, scene_chunk(1, UNIT, 1, 0));
    raw_half_close(first);
    cr_assert(raw_finish(first, &s.error) == SW_OK, "%s", s.error.message);
    scene_publish_tensor(&s, AT("logits", 1), UNIT, 1);
    expect_ok(&s);
}

static bool nothing_open(const struct stage_info *info) {
    return info->load.open_publishes == 0;
}

Test(publish_room, when_a_publish_breaks_place_and_room_come_back) {
    struct raw_call *broken = scene_open_tensor(&s, AT("logits", 0), 4 * UNIT);
    raw_send(broken, scene_chunk(0, UNIT, 1, 0));
    raw_cancel(broken);
    raw_finish(broken, NULL);
    cr_assert(scene_until(&s, nothing_open));
    scene_publish_tensor(&s, AT("logits", 0), 4 * UNIT, 2);
    expect_ok(&s);
}

/* ---- room ---- */

Test(publish_room, larger_than_the_budget_is_too_large_before_any_block_is_read) {
    struct raw_call *publish = scene_start_tensor(&s, AT("logits", 0), 4 * UNIT + 1);
    cr_assert(raw_finish(publish, &s.error) == SW_INVALID_ARGUMENT, "no block was sent, and it was answered");
    expect_error(&s, INVALID_ARGUMENT, TOO_LARGE);
    expect_words(&s, "stage 3", "logits");
}

static sw_status publish_blob(const char *channel, uint64_t step, size_t size) {
    char *blob = calloc(1, size);
    const sw_value metrics =
        sw_dict((sw_entry[]){{sw_text_of("blob"), {.kind = SW_VALUE_BLOB, .bytes = {blob, size}}}}, 1);
    sw_status status = scene_publish_value(&s, AT(channel, step), &metrics);
    free(blob);
    return status;
}

Test(publish_table, a_message_of_4_mib_less_4_kib_fits_and_a_byte_more_is_too_large) {
    size_t overhead = 32;
    while (publish_blob("probe", 0, SW_MESSAGE_MAX - overhead) != SW_OK && overhead < 64) overhead++;
    publish_blob("train", 0, SW_MESSAGE_MAX - overhead);
    expect_ok(&s);
    publish_blob("train", 1, SW_MESSAGE_MAX);
    expect_error(&s, INVALID_ARGUMENT, TOO_LARGE);
    cr_assert(scene_get(&s, AT("train", 0), NULL) == SW_OK, "a client that reads 4 MiB gets it: %s",
              s.error.message);
}

Test(publish_room, where_room_is_needed_keep_steps_yields_and_no_more_than_suffices) {
    for (uint64_t step = 0; step < 4; step++) publish_blob("train", step, 20000);
    expect_ok(&s);
    scene_get(&s, AT("train", 0), NULL);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    cr_assert(scene_get(&s, AT("train", 1), NULL) == SW_OK, "%s", s.error.message);
}

Test(publish_room, the_store_is_full_when_consumers_hold_it_and_they_are_named) {
    sw_channel_policy policy = scene_policy("logits", SW_TENSORS, 1);
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    scene_publish_tensor(&s, AT("logits", 0), 2 * UNIT, 1);
    scene_publish_tensor(&s, AT("logits", 1), 2 * UNIT, 1);
    expect_ok(&s);
    scene_publish_tensor(&s, AT("logits", 2), 2 * UNIT, 1);
    expect_error(&s, RESOURCE_EXHAUSTED, STORE_FULL);
    expect_metadata(&s, "consumers", "[\"c0\"]");
    expect_words(&s, "stage 3", "logits");
    scene_publish(&s, AT("train", 0), 1);
    expect_ok(&s);
    scene_release(&s, AT("logits", 0), SW_TENSORS, "c0", 1);
    scene_publish_tensor(&s, AT("logits", 2), 2 * UNIT, 1);
    expect_ok(&s);
    scene_detach(lease);
}

/* ---- blocks ---- */

static void publish_blocks(sw_buffer *first, sw_buffer *second) {
    struct raw_call *publish = scene_start_tensor(&s, AT("logits", 0), 2 * UNIT);
    raw_send(publish, first);
    if (second) raw_send(publish, second);
    raw_half_close(publish);
    raw_finish(publish, &s.error);
}

Test(publish_table, a_missing_a_doubled_a_short_and_a_foreign_block_are_malformed) {
    publish_blocks(scene_chunk(0, UNIT, 1, 0), NULL);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    cr_assert_not_null(sw_error_metadata(&s.error, "path"));
    publish_blocks(scene_chunk(0, UNIT, 1, 0), scene_chunk(0, UNIT, 1, 0));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    publish_blocks(scene_chunk(0, UNIT, 1, 0), scene_chunk(1, UNIT - 1, 1, 0));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    publish_blocks(scene_chunk(0, UNIT, 1, 0), scene_chunk(2, UNIT, 1, 0));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    scene_get_tensor(&s, AT("logits", 0), &(struct scene_tensor){0});
    expect_error(&s, NOT_FOUND, NOT_YET);
}

Test(publish_table, a_shape_that_does_not_fit_the_length_is_malformed) {
    const int64_t shape[] = {5};
    const struct tensor_info info = {
        .name = "t", .dtype = SW_F32, .rank = 1, .shape = shape, .byte_length = 19};
    const struct manifest manifest = {.address = AT("logits", 0), .tensor_count = 1, .tensors = &info};
    sw_buffer *message;
    cr_assert(manifest_encode(&manifest, &message, &s.error) == SW_OK, "%s", s.error.message);
    raw_finish(raw_start(s.raw, RAW_PUBLISHER("PublishTensors"), message, false, 5000), &s.error);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    cr_assert(strstr(sw_error_metadata(&s.error, "path"), "tensors[0]"), "%s",
              sw_error_metadata(&s.error, "path"));
}

Test(publish_table, a_wrong_hash_is_data_loss_and_the_item_does_not_appear) {
    publish_blocks(scene_chunk(0, UNIT, 1, 12345), scene_chunk(1, UNIT, 1, 0));
    expect_error(&s, DATA_LOSS, CHECKSUM);
    scene_get_tensor(&s, AT("logits", 0), &(struct scene_tensor){0});
    expect_error(&s, NOT_FOUND, NOT_YET);
}

/* ---- ends from outside ---- */

Test(publish_table, a_supersede_a_close_and_a_drain_end_an_open_publish_at_once) {
    struct raw_call *open = scene_open_tensor(&s, AT("logits", 0), 2 * UNIT);
    raw_send(open, scene_chunk(0, UNIT, 1, 0));
    scene_close_channel(&s, AT("logits", 0), SW_TENSORS, false, SW_CLOSE_FINISHED, "");
    raw_finish(open, &s.error);
    expect_error(&s, FAILED_PRECONDITION, CHANNEL_CLOSED);

    open = scene_open_tensor(&s, AT("other", 0), 2 * UNIT);
    raw_send(open, scene_chunk(0, UNIT, 1, 0));
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    raw_finish(open, &s.error);
    expect_error(&s, FAILED_PRECONDITION, STALE_GENERATION);

    sw_channel_policy policy = scene_policy("held", SW_METRICS, 1);
    struct raw_call *holder = scene_attach(&s, 2, &policy, 1);
    scene_publish(&s, AT("held", 0), 1);
    open = scene_open_tensor(&s, AT("other", 0), 2 * UNIT);
    raw_send(open, scene_chunk(0, UNIT, 1, 0));
    daemon_signal(s.daemon, SIGTERM);
    raw_finish(open, &s.error);
    expect_error(&s, UNAVAILABLE, SHUTTING_DOWN);
    scene_publish(&s, AT("train", 0), 1);
    expect_error(&s, UNAVAILABLE, SHUTTING_DOWN);
    scene_detach(lease);
    scene_detach(holder);
}

/* ---- the order of the rows ---- */

Test(publish_table, malformed_comes_before_another_run) {
    scene_publish(&s, AT("bad name", 0, .run_id = "run-b"), 1);
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
}

Test(publish_table, another_run_comes_before_the_generation) {
    scene_publish(&s, AT("train", 0, .run_id = "run-b", .generation = 9), 1);
    expect_error(&s, FAILED_PRECONDITION, RUN_MISMATCH);
}

Test(publish_table, a_conflict_comes_before_going_back_and_going_back_before_the_closing) {
    scene_publish(&s, AT("train", 4), 1);
    scene_publish(&s, AT("train", 6), 1);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    scene_publish(&s, AT("train", 4), 2);
    expect_error(&s, ALREADY_EXISTS, CONFLICT);
    scene_publish(&s, AT("train", 5), 1);
    expect_error(&s, FAILED_PRECONDITION, STEP_WENT_BACK);
    scene_publish(&s, AT("train", 7), 1);
    expect_error(&s, FAILED_PRECONDITION, CHANNEL_CLOSED);
}

Test(publish_room, a_publish_in_progress_comes_before_too_large) {
    struct raw_call *open = scene_open_tensor(&s, AT("logits", 0), UNIT);
    scene_publish_tensor(&s, AT("aside", 0), 16, 1);
    scene_publish_tensor(&s, AT("logits", 1), 9 * UNIT, 1);
    expect_error(&s, ABORTED, PUBLISH_IN_PROGRESS);
    raw_cancel(open);
    raw_finish(open, NULL);
}
