/* Leases, generations, policies and lag, through a real daemon. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/scene.h"
#include "tests/support/test.h"

#define UNIT (512u << 10)

static struct scene s;

static void close_scene(void) {
    scene_close(&s);
}
static void open_scene(void) {
    scene_open(&s, "--publisher-grace", "400ms", "--store-bytes", "2m", NULL);
}

TestSuite(leases, .init = open_scene, .fini = close_scene, .timeout = 60);

static void is_lost(struct raw_call *waiting) {
    scene_finish_get(&s, waiting, NULL);
    expect_error(&s, ABORTED, PUBLISHER_LOST);
}

/* ---- leases ---- */

Test(leases, two_holders_of_one_lease_are_lost_with_the_last) {
    struct raw_call *first = scene_attach(&s, 1, NULL, 0), *second = scene_attach(&s, 1, NULL, 0);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 0));
    scene_detach(first);
    cr_assert_not(raw_over(waiting, 900), "one holder is still there");
    scene_detach(second);
    is_lost(waiting);
}

Test(leases, a_trainer_that_comes_back_within_the_grace_is_no_loss) {
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 0));
    scene_detach(lease);
    lease = scene_attach(&s, 1, NULL, 0);
    cr_assert_not(raw_over(waiting, 900), "the grace has passed, and the trainer is back");
    scene_publish(&s, AT("train", 0), 1);
    cr_assert(scene_finish_get(&s, waiting, NULL) == SW_OK, "%s", s.error.message);
    scene_detach(lease);
}

Test(leases, a_loss_ends_when_somebody_attaches) {
    scene_detach(scene_attach(&s, 1, NULL, 0));
    is_lost(scene_start_get(&s, AT("train", 0), 30000));
    scene_publish(&s, AT("aside", 0), 1);
    expect_ok(&s);
    scene_get(&s, AT("train", 0), NULL);
    expect_error(&s, ABORTED, PUBLISHER_LOST);
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    scene_get(&s, AT("train", 0), NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    scene_detach(lease);
}

Test(leases, where_nobody_attached_nothing_is_lost) {
    scene_publish(&s, AT("train", 0), 1);
    struct raw_call *waiting = scene_waiting_get(&s, AT("train", 1));
    cr_assert_not(raw_over(waiting, 900));
    raw_cancel(waiting);
    raw_finish(waiting, NULL);
}

Test(leases, a_newer_generation_ends_the_leases_of_the_older_with_stale_generation) {
    struct raw_call *old = scene_attach(&s, 1, NULL, 0);
    struct raw_call *new = scene_attach(&s, 2, NULL, 0);
    raw_finish(old, &s.error);
    expect_error(&s, FAILED_PRECONDITION, STALE_GENERATION);
    expect_metadata(&s, "generation", "2");
    cr_assert_null(scene_attach(&s, 1, NULL, 0));
    expect_error(&s, FAILED_PRECONDITION, STALE_GENERATION);
    scene_detach(new);
}

Test(leases, a_step_repeated_after_a_resume_is_never_answered_with_its_old_value) {
    struct raw_call *first = scene_attach(&s, 1, NULL, 0);
    scene_publish(&s, AT("train", 100, .generation = 1), 1);
    struct raw_call *second = scene_attach(&s, 2, NULL, 0);
    scene_get(&s, AT("train", 100), NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    scene_publish(&s, AT("train", 100, .generation = 2), 2);
    int64_t value = 0;
    scene_get(&s, AT("train", 100), &value);
    cr_assert_eq(value, 2);
    scene_detach(first);
    scene_detach(second);
}

Test(leases, a_stage_not_below_its_count_is_malformed) {
    cr_assert_null(scene_attach_stage(&s, 4, 1));
    expect_error(&s, INVALID_ARGUMENT, MALFORMED);
}

/* ---- policies ---- */

Test(leases, the_first_declaration_stands_and_another_one_is_a_conflict_that_changes_nothing) {
    sw_channel_policy first = scene_policy("train", SW_METRICS, 5),
                      other = scene_policy("train", SW_METRICS, 6);
    struct raw_call *lease = scene_attach(&s, 1, &first, 1);
    struct raw_call *same = scene_attach(&s, 1, &first, 1);
    cr_assert_not_null(same, "%s", s.error.message);
    sw_channel_policy both[] = {{.channel = "new", .kind = SW_METRICS, .next_step = 9}, other};
    cr_assert_null(scene_attach(&s, 1, both, 2));
    expect_error(&s, FAILED_PRECONDITION, POLICY_CONFLICT);
    expect_words(&s, "train");
    scene_publish(&s, AT("new", 0), 1);
    expect_ok(&s);
    scene_detach(lease);
    scene_detach(same);
}

Test(leases, next_step_is_not_compared_and_only_rises) {
    sw_channel_policy at_10 = {.channel = "train", .kind = SW_METRICS, .next_step = 10};
    sw_channel_policy at_5 = {.channel = "train", .kind = SW_METRICS, .next_step = 5};
    struct raw_call *lease = scene_attach(&s, 1, &at_10, 1), *again = scene_attach(&s, 1, &at_5, 1);
    cr_assert_not_null(again, "%s", s.error.message);
    scene_publish(&s, AT("train", 7), 1);
    expect_error(&s, FAILED_PRECONDITION, STEP_WENT_BACK);
    scene_detach(lease);
    scene_detach(again);
}

/* ---- keeping, releasing, lag ---- */

Test(leases, what_an_expected_consumer_has_not_released_stays_and_goes_when_it_has) {
    sw_channel_policy policy = scene_policy("train", SW_METRICS, 1);
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    for (uint64_t step = 0; step < 5; step++) scene_publish(&s, AT("train", step), (int64_t)step);
    cr_assert(scene_get(&s, AT("train", 0), NULL) == SW_OK, "%s", s.error.message);
    scene_release(&s, AT("train", 0), SW_METRICS, "c0", 3);
    scene_get(&s, AT("train", 2), NULL);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    cr_assert(scene_get(&s, AT("train", 3), NULL) == SW_OK, "%s", s.error.message);
    scene_release(&s, AT("train", 0), SW_METRICS, "c0", 1);
    scene_publish(&s, AT("train", 5), 5);
    cr_assert(scene_get(&s, AT("train", 3), NULL) == SW_OK,
              "a release never goes back, and 3 is not released");
    scene_detach(lease);
}

Test(leases, a_pull_releases_for_its_consumer_whatever_its_answer) {
    sw_channel_policy policy = scene_policy("train", SW_METRICS, 1);
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    for (uint64_t step = 0; step < 5; step++) scene_publish(&s, AT("train", step), (int64_t)step);
    struct pull_request pull = {
        .address = AT("train", 9), .wait.no_wait = true, .consumer = {.id = "c0", .release_below = 4}};
    scene_pull_metrics(&s, &pull, NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
    scene_get(&s, AT("train", 3), NULL);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    scene_detach(lease);
}

Test(leases, an_undeclared_consumer_and_an_unknown_channel_are_ok_and_leave_nothing) {
    scene_release(&s, AT("never-seen", 0), SW_METRICS, "who", 4);
    expect_ok(&s);
    scene_get(&s, AT("never-seen", 0), NULL);
    expect_error(&s, NOT_FOUND, NOT_YET);
}

Test(leases, a_consumer_beyond_max_lag_steps_is_dropped_and_holds_nothing_any_more) {
    sw_channel_policy policy = scene_policy("train", SW_METRICS, 1);
    policy.max_lag_steps = 2;
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    for (uint64_t step = 0; step < 3; step++) scene_publish(&s, AT("train", step), 1);
    cr_assert(scene_get(&s, AT("train", 0), NULL) == SW_OK, "two behind is allowed: %s", s.error.message);
    scene_publish(&s, AT("train", 3), 1);
    scene_get(&s, AT("train", 0), NULL);
    expect_error(&s, OUT_OF_RANGE, EVICTED);
    scene_detach(lease);
}

Test(leases, a_laggard_gives_its_room_to_the_publish_that_drops_it) {
    sw_channel_policy policy = scene_policy("logits", SW_TENSORS, 1);
    policy.max_lag_steps = 1;
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    for (uint64_t step = 0; step < 8; step++) {
        scene_publish_tensor(&s, AT("logits", step), 2 * UNIT, 1);
        expect_ok(&s);
    }
    scene_detach(lease);
}

Test(leases, an_older_generations_release_is_superseded_and_one_to_come_is_ignored) {
    struct raw_call *lease = scene_attach(&s, 2, NULL, 0);
    scene_release(&s, AT("train", 0, .generation = 1), SW_METRICS, "c0", 4);
    expect_error(&s, ABORTED, SUPERSEDED);
    scene_release(&s, AT("train", 0, .generation = 3), SW_METRICS, "c0", 4);
    expect_ok(&s);
    scene_detach(lease);
}
