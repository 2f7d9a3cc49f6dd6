/* contract.md, Publishing: keeping and lag. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(keep);

static void publish_steps(uint64_t from, uint64_t to) {
    for (uint64_t step = from; step <= to; step++) expect_ok(publish(at("train", step), "loss"));
}
static bool is_held(uint64_t step) {
    return pull_now(SW_METRICS, at("train", step))->pull.status == SW_OK;
}
static void declare(uint32_t keep_steps, uint32_t lag, const char *a, const char *b) {
    cr_assert_not_null(ATTACH_WITH(
        1, {.channel = "train", .kind = SW_METRICS, .keep = keep_steps, .lag = lag, .consumers = {a, b}}));
}

Test(keep, without_consumers_the_newest_keep_steps_are_held) {
    options.keep_steps = 3;
    fixture_reopen();
    publish_steps(1, 5);
    cr_assert_not(is_held(2));
    cr_assert(is_held(3));
    cr_assert(is_held(5));
}

Test(keep, the_defaults_are_1024_for_metrics_and_1_for_tensors) {
    publish_steps(1, 1025);
    cr_assert_not(is_held(1));
    cr_assert(is_held(2));
    publish_tensors(at("acts", 1), "one", 1);
    publish_tensors(at("acts", 2), "two", 1);
    expect_refusal(pull_now(SW_TENSORS, at("acts", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(keep, steps_are_counted_as_published_not_by_their_numbers) {
    options.keep_steps = 2;
    fixture_reopen();
    publish(at("train", 10), "loss");
    publish(at("train", 1000), "loss");
    cr_assert(is_held(10));
}

Test(keep, all_calls_of_a_step_go_together) {
    options.keep_steps = 1;
    fixture_reopen();
    publish(at_call("train", 1, 0), "a");
    publish(at_call("train", 1, 1), "b");
    cr_assert(is_held(1), "one step, whatever its calls");
    publish(at("train", 2), "c");
    expect_refusal(pull_now(SW_METRICS, at_call("train", 1, 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    cr_assert_eq(channel_info("train", SW_METRICS).held_bytes, 1);
}

Test(keep, a_step_stays_until_every_expected_consumer_has_released_it) {
    declare(1, 0, "a", "b");
    publish_steps(1, 5);
    cr_assert(is_held(1));
    expect_ok(release(SW_METRICS, at("train", 0), "a", 4));
    cr_assert(is_held(1));
    expect_ok(release(SW_METRICS, at("train", 0), "b", 3));
    cr_assert_not(is_held(2), "it goes at the release that makes it so");
    cr_assert(is_held(3));
}

Test(keep, what_is_released_stays_while_keep_steps_newer_ones_are_not_held) {
    declare(3, 0, "a", NULL);
    publish_steps(1, 3);
    expect_ok(release(SW_METRICS, at("train", 0), "a", 4));
    cr_assert(is_held(1));
    publish_steps(4, 4);
    cr_assert_not(is_held(1), "it goes at the publish that makes it so");
}

Test(keep, a_declaration_can_let_steps_go) {
    publish_steps(1, 5);
    declare(2, 0, NULL, NULL);
    cr_assert_not(is_held(3));
    cr_assert(is_held(4));
}

Test(keep, a_consumer_that_is_declared_late_needs_what_is_held_then) {
    options.keep_steps = 3;
    fixture_reopen();
    publish_steps(1, 5);
    declare(0, 0, "a", NULL);
    publish_steps(6, 9);
    cr_assert(is_held(3));
    expect_ok(release(SW_METRICS, at("train", 0), "a", 9));
    cr_assert_not(is_held(6));
}

Test(keep, thousands_of_steps_come_and_go) {
    declare(1, 0, "a", NULL);
    for (int round = 0; round < 20; round++) {
        publish_steps((uint64_t)round * 500, (uint64_t)round * 500 + 499);
        expect_ok(release(SW_METRICS, at("train", 0), "a", (uint64_t)round * 500 + 250));
        cr_assert_not(is_held((uint64_t)round * 500 + 249));
        cr_assert(is_held((uint64_t)round * 500 + 250));
    }
}

/* ---- lag ---- */

Test(lag, a_consumer_beyond_it_is_dropped_and_counted) {
    declare(1, 2, "slow", "quick");
    publish_steps(1, 3);
    expect_ok(release(SW_METRICS, at("train", 0), "quick", 4));
    cr_assert(is_held(1));
    cr_assert_eq(store_dropped_consumers(store), 0);
    publish_steps(4, 4); /* slow has not released 1, and 3 steps were published after it */
    cr_assert_eq(store_dropped_consumers(store), 1);
    cr_assert_not(is_held(1));
    cr_assert_eq(channel_info("train", SW_METRICS).consumer_count, 1);
}

Test(lag, it_is_counted_from_the_oldest_that_is_not_released) {
    declare(1, 2, "slow", NULL);
    publish_steps(1, 3);
    expect_ok(release(SW_METRICS, at("train", 0), "slow", 2));
    publish_steps(4, 4); /* 2 is the oldest, and 3 and 4 came after it */
    cr_assert_eq(store_dropped_consumers(store), 0);
    publish_steps(5, 5);
    cr_assert_eq(store_dropped_consumers(store), 1);
    cr_assert_not(is_held(2));
}

Test(lag, one_that_keeps_up_is_never_dropped) {
    declare(1, 2, "quick", NULL);
    for (uint64_t step = 1; step < 100; step++) {
        publish_steps(step, step);
        if (step > 2) expect_ok(release(SW_METRICS, at("train", 0), "quick", step - 1));
    }
    cr_assert_eq(store_dropped_consumers(store), 0);
}

Test(lag, a_dropped_consumer_is_an_observer_for_the_rest_of_the_generation) {
    declare(1, 1, "slow", NULL);
    publish_steps(1, 3);
    cr_assert_eq(store_dropped_consumers(store), 1);
    expect_ok(release(SW_METRICS, at("train", 0), "slow", 3));
    publish_steps(4, 4);
    cr_assert_not(is_held(3));
    attach(2, STAGE, 0);
    ATTACH_WITH(2, {.channel = "train", .kind = SW_METRICS, .keep = 1, .lag = 1, .consumers = {"slow"}});
    publish_steps(1, 2);
    cr_assert(is_held(1), "a new generation, a new consumer");
}

Test(lag, calls_of_one_step_are_one_step) {
    declare(1, 1, "slow", NULL);
    for (uint32_t call = 0; call < 9; call++) publish(at_call("train", 1, call), "loss");
    publish_steps(2, 2);
    cr_assert_eq(store_dropped_consumers(store), 0);
}

Test(lag, failures_count_as_steps) {
    declare(1, 1, "slow", NULL);
    publish_steps(1, 1);
    publish_failure(at("train", 2), SW_METRICS, "boom");
    publish_failure(at("train", 3), SW_METRICS, "boom");
    cr_assert_eq(store_dropped_consumers(store), 1);
}

Test(lag, the_endpoints_limit_counts_where_a_policy_names_none) {
    options.max_lag_steps = 1;
    fixture_reopen();
    declare(1, 0, "slow", NULL);
    publish_steps(1, 3);
    cr_assert_eq(store_dropped_consumers(store), 1);
}

Test(lag, without_a_limit_nobody_is_dropped) {
    declare(1, 0, "slow", NULL);
    publish_steps(1, 5000);
    cr_assert(is_held(1));
}

Test(lag, the_step_that_is_being_published_counts_when_room_is_made) {
    options.store_bytes = 30;
    fixture_reopen();
    ATTACH_WITH(1, {.channel = "acts", .kind = SW_TENSORS, .lag = 2, .consumers = {"slow"}});
    for (uint64_t step = 1; step <= 3; step++) expect_ok(publish_tensors(at("acts", step), "bytes", 10));
    expect_ok(publish_tensors(at("acts", 4), "bytes", 10));
    cr_assert_eq(store_dropped_consumers(store), 1);
}

Test(lag, nobody_is_dropped_by_a_publish_that_is_refused) {
    options.store_bytes = 30;
    fixture_reopen();
    ATTACH_WITH(1, {.channel = "acts", .kind = SW_TENSORS, .lag = 2, .consumers = {"slow"}},
                {.channel = "held", .kind = SW_TENSORS, .consumers = {"other"}});
    expect_ok(publish_tensors(at("held", 1), "bytes", 24));
    for (uint64_t step = 1; step <= 3; step++) expect_ok(publish_tensors(at("acts", step), "bytes", 2));
    cr_assert_null(begin_tensors(at("acts", 4), 10));
    expect_refused(refused.code, SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    expect_metadata(&refused, "consumers", "[\"other\"]");
    cr_assert_eq(store_dropped_consumers(store), 0);
}
STORE_SUITE(lag);
