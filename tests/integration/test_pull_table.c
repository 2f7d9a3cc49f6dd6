/* Every row of the contract's pull table, provoked through a real daemon over a real socket: code, reason,
 * metadata, a message that names stage and address, how soon, and the rows' order. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "tests/support/scene.h"
#include "tests/support/test.h"

#define UNIT (512u << 10)

static struct scene s;

static void close_scene(void) {
    scene_close(&s);
}
static void open_scene(void) {
    scene_open(&s, "--publisher-grace", "300ms", NULL);
}
static void open_keeping_two(void) {
    scene_open(&s, "--keep-steps", "2", "--keep-tensor-steps", "2", NULL);
}

TestSuite(pull_table, .init = open_scene, .fini = close_scene, .timeout = 60);
TestSuite(pull_kept, .init = open_keeping_two, .fini = close_scene, .timeout = 60);

/* A pull with ten seconds to wait that is answered long before, however busy the machine is. */
static sw_status get_at_once(sw_address at) {
    int64_t begun = clock_now_ms(&clock_system);
    sw_status status = scene_finish_get(&s, scene_start_get(&s, at, 10000), NULL);
    int64_t took = clock_now_ms(&clock_system) - begun;
    cr_assert(took < 3000, "the answer was certain, and took %d ms", (int)took);
    return status;
}

static void free_tensor(struct scene_tensor *tensor) {
    free(tensor->bytes);
    *tensor = (struct scene_tensor){0};
}

/* ---- refused ---- */

Test(pull_table, a_bad_channel_is_malformed) {
    get_at_once(AT("a b", 0));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    expect_metadata(&s, "path", "address.channel");
}

Test(pull_table, another_run_is_a_run_mismatch) {
    get_at_once(AT("train", 0, .run_id = "run-b"));
    expect_error(&s, FAILED_PRECONDITION, RUN_MISMATCH);
    expect_words(&s, "run-a", "run-b");
}

Test(pull_table, an_older_generation_is_superseded_and_the_current_one_is_named) {
    scene_publish(&s, AT("train", 7), 1);
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    get_at_once(AT("train", 7, .generation = 1));
    expect_error(&s, ABORTED, SUPERSEDED);
    expect_metadata(&s, "generation", "2");
    expect_words(&s, "stage 3", "train", "step 7");
    scene_detach(lease);
}

Test(pull_table, several_stages_with_the_channel_are_ambiguous_and_named) {
    scene_publish(&s, AT("train", 0, .has_stage = true, .stage = 1), 1);
    scene_publish(&s, AT("train", 0, .has_stage = true, .stage = 3), 3);
    get_at_once(AT("train", 0));
    expect_error(&s, INVALID_ARGUMENT, AMBIGUOUS_STAGE);
    expect_metadata(&s, "stages", "[1,3]");
    int64_t value = 0;
    scene_get(&s, AT("train", 0, .has_stage = true, .stage = 1), &value);
    cr_assert_eq(value, 1);
}

Test(pull_table, the_only_stage_that_has_the_channel_is_meant) {
    scene_publish(&s, AT("train", 0, .has_stage = true, .stage = 1), 11);
    int64_t value = 0;
    scene_get(&s, AT("train", 0), &value);
    cr_assert_eq(value, 11);
}

/* ---- held ---- */

Test(pull_table, a_held_item_is_answered_at_once) {
    scene_publish(&s, AT("train", 7), 70);
    get_at_once(AT("train", 7));
    expect_ok(&s);
}

Test(pull_table, a_name_that_the_item_lacks_is_no_such_tensor_and_lists_those_it_has) {
    scene_publish_tensor(&s, AT("logits", 0), 64, 1);
    const struct tensor_range range = {.name = "nope"};
    struct scene_tensor tensor;
    scene_stream(&s, &(struct pull_request){.address = AT("logits", 0), .ranges = &range, .range_count = 1},
                 &tensor);
    expect_error(&s, NOT_FOUND, NO_SUCH_TENSOR);
    expect_metadata(&s, "tensors", "[\"t\"]");
    expect_words(&s, "stage 3", "logits", "nope");
}

Test(pull_table, blocks_outside_the_tensor_are_a_bad_range) {
    scene_publish_tensor(&s, AT("logits", 0), 2 * UNIT, 1);
    struct scene_tensor tensor;
    const struct tensor_range beyond = {.name = "t", .first_block = 3};
    scene_stream(&s, &(struct pull_request){.address = AT("logits", 0), .ranges = &beyond, .range_count = 1},
                 &tensor);
    expect_error(&s, OUT_OF_RANGE, BAD_RANGE);
    const struct tensor_range longer = {.name = "t", .first_block = 1, .block_count = UINT64_MAX};
    scene_stream(&s, &(struct pull_request){.address = AT("logits", 0), .ranges = &longer, .range_count = 1},
                 &tensor);
    expect_error(&s, OUT_OF_RANGE, BAD_RANGE);
}

Test(pull_table, a_range_gives_its_blocks_alone) {
    scene_publish_tensor(&s, AT("logits", 0), 3 * UNIT, 9);
    struct scene_tensor tensor;
    const struct tensor_range middle = {.name = "t", .first_block = 1, .block_count = 1};
    scene_stream(&s, &(struct pull_request){.address = AT("logits", 0), .ranges = &middle, .range_count = 1},
                 &tensor);
    expect_ok(&s);
    cr_assert(tensor.bytes[0] == 0 && tensor.bytes[UNIT] == 9 && tensor.bytes[2 * UNIT] == 0);
    free_tensor(&tensor);
}

/* ---- gone, failed, never there ---- */

Test(pull_table, a_failure_is_told_with_the_publishers_message) {
    scene_fail(&s, AT("train", 3), SW_METRICS, "loss is nan");
    get_at_once(AT("train", 3));
    expect_error(&s, ABORTED, STEP_FAILED);
    expect_metadata(&s, "message", "loss is nan");
    expect_words(&s, "stage 3", "train", "step 3", "loss is nan");
}

Test(pull_kept, what_was_published_and_is_gone_is_evicted_and_the_oldest_held_is_named) {
    for (uint64_t step = 0; step < 5; step++) scene_publish(&s, AT("train", step), 1);
    get_at_once(AT("train", 1));
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    expect_metadata(&s, "oldest", "3/0");
    expect_words(&s, "stage 3", "train", "step 1");
}

Test(pull_table, below_the_latest_and_never_published_is_skipped) {
    scene_publish(&s, AT("train", 2), 1);
    scene_publish(&s, AT("train", 8), 1);
    get_at_once(AT("train", 5));
    expect_error(&s, NOT_FOUND, SKIPPED);
    get_at_once(AT("train", 2, .call = 1));
    expect_error(&s, NOT_FOUND, SKIPPED);
    expect_words(&s, "stage 3", "train", "step 2", "call 1");
}

Test(pull_kept, below_all_that_is_known_a_step_is_evicted_if_anything_was_ever_forgotten_there) {
    for (uint64_t step = 0; step < 200; step += 2) scene_publish(&s, AT("train", step), 1);
    get_at_once(AT("train", 3));
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    get_at_once(AT("train", 197));
    expect_error(&s, NOT_FOUND, SKIPPED);
    get_at_once(AT("train", 151));
    expect_error(&s, NOT_FOUND, SKIPPED);
}

Test(pull_table, after_a_restart_steps_below_next_step_are_evicted) {
    sw_channel_policy policy = {.channel = "train", .kind = SW_METRICS, .next_step = 500};
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    get_at_once(AT("train", 499));
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    scene_get(&s, AT("train", 500), NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    scene_detach(lease);
}

/* ---- ends ---- */

Test(pull_table, beyond_the_last_of_a_finished_channel_is_finished_and_the_last_is_named) {
    scene_publish(&s, AT("train", 7, .call = 2), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 8));
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, OUT_OF_RANGE, FINISHED);
    expect_metadata(&s, "last", "7/2");
    get_at_once(AT("train", 9));
    expect_error(&s, OUT_OF_RANGE, FINISHED);
    get_at_once(AT("train", 7, .call = 2));
    expect_ok(&s);
}

Test(pull_table, of_an_aborted_channel_the_message_is_told) {
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_ABORTED, "diverged");
    get_at_once(AT("train", 0));
    expect_error(&s, ABORTED, PUBLISHER_ABORTED);
    expect_metadata(&s, "message", "diverged");
    expect_words(&s, "stage 3", "train", "diverged");
}

Test(pull_table, a_lost_trainer_is_told_to_waiting_pulls_and_for_channels_never_seen_too) {
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 0));
    scene_detach(lease);
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, ABORTED, PUBLISHER_LOST);
    get_at_once(AT("never-seen", 0));
    expect_error(&s, ABORTED, PUBLISHER_LOST);
    expect_words(&s, "stage 3", "never-seen");
}

Test(pull_table, while_the_endpoint_goes_down_what_is_held_is_served_and_waits_are_refused) {
    sw_channel_policy policy = scene_policy("train", SW_METRICS, 1);
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    scene_publish(&s, AT("train", 0), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 1));
    scene_drain(&s);
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, UNAVAILABLE, SHUTTING_DOWN);
    get_at_once(AT("train", 0));
    expect_ok(&s);
    get_at_once(AT("train", 1));
    expect_error(&s, UNAVAILABLE, SHUTTING_DOWN);
    scene_release(&s, AT("train", 0), SW_METRICS, "c0", 1);
    cr_assert(daemon_wait(s.daemon, 10000) == 0, "nothing held is needed any more: it exits with 0");
    scene_detach(lease);
}

static bool two_wait(const struct stage_info *info) {
    return info->load.waiting == 2;
}

Test(pull_table, beyond_a_limit_the_limit_is_named) {
    scene_close(&s);
    scene_open(&s, "--max-waiters", "2", NULL);
    struct raw_call *first = scene_start_get(&s, AT("train", 0), 10000);
    struct raw_call *second = scene_start_get(&s, AT("train", 1), 10000);
    cr_assert(scene_until(&s, two_wait));
    get_at_once(AT("train", 2));
    expect_error(&s, RESOURCE_EXHAUSTED, LIMIT);
    expect_metadata(&s, "limit", "waiters");
    scene_publish(&s, AT("train", 0), 5);
    cr_assert(scene_finish_get(&s, first, NULL) == SW_OK);
    raw_cancel(second);
    raw_finish(second, NULL);
}

/* ---- not yet ---- */

Test(pull_table, not_yet_published_is_not_found_for_those_who_do_not_wait) {
    scene_publish(&s, AT("train", 6), 1);
    scene_get(&s, AT("train", 7), NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    expect_metadata(&s, "latest", "6/0");
    expect_words(&s, "stage 3", "train", "step 7", "6");
}

Test(pull_table, a_wait_that_ends_says_what_was_there_instead) {
    scene_publish(&s, AT("train", 6), 1);
    struct pull_request pull = {.address = AT("train", 7), .wait.wait_ms = 200};
    int64_t begun = clock_now_ms(&clock_system);
    scene_pull_metrics(&s, &pull, NULL);
    int64_t took = clock_now_ms(&clock_system) - begun;
    expect_error(&s, DEADLINE_EXCEEDED, NOT_YET);
    expect_metadata(&s, "latest", "6/0");
    cr_assert(took >= 190 && took < 5000, "200 ms were asked for, %d were waited", (int)took);
}

Test(pull_table, a_wait_is_answered_shortly_before_the_calls_deadline_so_that_the_reason_arrives) {
    /* 50 ms ahead is short on a busy machine: one of a few arrives, where none would without it */
    for (int i = 0; i < 5 && s.error.reason != SW_REASON_NOT_YET; i++)
        scene_finish_get(&s, scene_start_get(&s, AT("train", 7), 600), NULL);
    expect_error(&s, DEADLINE_EXCEEDED, NOT_YET);
}

Test(pull_table, no_wait_wins_over_wait_ms) {
    struct pull_request pull = {.address = AT("train", 7), .wait = {.no_wait = true, .wait_ms = 8000}};
    scene_pull_metrics(&s, &pull, NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
}

Test(pull_table, a_waiting_pull_is_woken_by_its_publish) {
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 7));
    scene_publish(&s, AT("train", 6), 60);
    cr_assert_not(raw_over(waiting, 0), "another step does not wake it");
    scene_publish(&s, AT("train", 7), 70);
    int64_t value = 0;
    cr_assert(scene_finish_get(&s, waiting, &value) == SW_OK, "%s", s.error.message);
    cr_assert_eq(value, 70);
}

Test(pull_table, a_pull_for_a_generation_to_come_waits_for_it) {
    scene_publish(&s, AT("train", 0), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 0, .generation = 2));
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    scene_publish(&s, AT("train", 0, .generation = 2), 2);
    int64_t value = 0;
    cr_assert(scene_finish_get(&s, waiting, &value) == SW_OK, "%s", s.error.message);
    cr_assert_eq(value, 2);
    scene_detach(lease);
}

Test(pull_table, a_waiting_pull_of_a_superseded_generation_is_told) {
    scene_publish(&s, AT("train", 0), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 1));
    scene_publish(&s, AT("aside", 0), 1);
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, ABORTED, SUPERSEDED);
    scene_detach(lease);
}

/* ---- latest ---- */

Test(pull_table, latest_is_the_newest_held_that_is_no_failure) {
    scene_publish(&s, AT("train", 5), 50);
    scene_fail(&s, AT("train", 6), SW_METRICS, "nan");
    int64_t value = 0;
    scene_pull_metrics(&s, &(struct pull_request){.address = AT("train", 0), .latest = true}, &value);
    expect_ok(&s);
    cr_assert_eq(value, 50);
}

Test(pull_table, latest_waits_only_while_there_is_none_and_knows_closed_channels) {
    scene_fail(&s, AT("train", 6), SW_METRICS, "nan");
    struct pull_request pull = {.address = AT("train", 0), .latest = true, .wait.no_wait = true};
    scene_pull_metrics(&s, &pull, NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    scene_pull_metrics(&s, &pull, NULL);
    expect_error(&s, OUT_OF_RANGE, FINISHED);
}

/* ---- pins ---- */

Test(pull_kept, a_pin_names_that_very_item_after_eviction_and_supersede) {
    scene_publish_tensor(&s, AT("logits", 0), UNIT, 1);
    struct scene_tensor first, again;
    cr_assert(scene_get_tensor(&s, AT("logits", 0), &first) == SW_OK, "%s", s.error.message);
    for (uint64_t step = 1; step < 5; step++) scene_publish_tensor(&s, AT("logits", step), UNIT, 2);
    struct pull_request pull = {.address = AT("logits", 0, .generation = 1), .wait.no_wait = true};
    scene_stream(&s, &pull, &again);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    pull.pin = first.pin;
    scene_stream(&s, &pull, &again);
    expect_ok(&s);
    cr_assert(again.pin == first.pin && again.generation == 1 && again.bytes[0] == 1);
    free_tensor(&again);
    pull.pin = first.pin + 1;
    scene_stream(&s, &pull, &again);
    expect_error(&s, ABORTED, SUPERSEDED);
    free_tensor(&first);
    scene_detach(lease);
}

/* ---- the order of the rows ---- */

Test(pull_table, malformed_comes_before_another_run_and_another_run_before_the_generation) {
    get_at_once(AT("a b", 0, .run_id = "run-b"));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    get_at_once(AT("train", 0, .run_id = "run-b", .generation = 1));
    expect_error(&s, FAILED_PRECONDITION, RUN_MISMATCH);
    scene_detach(lease);
}

Test(pull_kept, eviction_and_skipping_come_before_the_closing) {
    for (uint64_t step = 0; step < 8; step += 2) scene_publish(&s, AT("train", step), 1);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_FINISHED, "");
    get_at_once(AT("train", 0));
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    get_at_once(AT("train", 5));
    expect_error(&s, NOT_FOUND, SKIPPED);
    get_at_once(AT("train", 7));
    expect_error(&s, OUT_OF_RANGE, FINISHED);
}

Test(pull_table, a_closing_comes_before_the_loss) {
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    scene_close_channel(&s, AT("train", 0), SW_METRICS, false, SW_CLOSE_ABORTED, "diverged");
    struct raw_call *waiting = scene_waiting_get(&s, AT("other", 0));
    scene_detach(lease);
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, ABORTED, PUBLISHER_LOST);
    get_at_once(AT("train", 0));
    expect_error(&s, ABORTED, PUBLISHER_ABORTED);
}

Test(pull_table, a_held_item_comes_before_its_lost_trainer) {
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    scene_publish(&s, AT("train", 0), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 1));
    scene_detach(lease);
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, ABORTED, PUBLISHER_LOST);
    get_at_once(AT("train", 0));
    expect_ok(&s);
}

/* ---- the message on the wire ---- */

Test(pull_table, message_and_details_stay_under_4_kib_and_a_list_that_is_cut_says_by_how_many) {
    for (uint32_t stage = 0; stage < 2000; stage++)
        scene_publish(&s, AT("train", 0, .has_stage = true, .stage = 1000000 + stage), 1);
    get_at_once(AT("train", 0));
    expect_error(&s, INVALID_ARGUMENT, AMBIGUOUS_STAGE);
    cr_assert_not_null(sw_error_metadata(&s.error, "stages"));
    const char *omitted = sw_error_metadata(&s.error, "omitted");
    cr_assert(omitted && atoi(omitted) > 1000, "omitted: %s", omitted ? omitted : "none");
}
