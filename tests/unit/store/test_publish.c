/* contract.md, Publishing: the rows that metrics and failures meet, in order. */
#include <string.h>

#include "tests/unit/store/fixture.h"

STORE_SUITE(publish);

Test(publish, what_was_published_is_pulled) {
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert_not(was_duplicate());
    struct puller *puller = pull_now(SW_METRICS, at("train", 7));
    expect_answer(puller, "loss");
    const sw_address *resolved = &puller->pull.item->address;
    cr_assert_eq(resolved->generation, 1);
    cr_assert(resolved->has_stage);
    cr_assert_eq(resolved->stage, STAGE);
    cr_assert_str_eq(resolved->channel, "train");
}

Test(publish, the_wall_clock_says_when) {
    advance(1234);
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert_eq(pull_now(SW_METRICS, at("train", 7))->pull.item->published_unix_ns, 1234000000);
}

Test(publish, another_run_is_refused) {
    sw_address address = at("train", 7);
    address.run_id = "run-b";
    expect_refused(publish(address, "loss"), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
    expect_sentence(&refused, "run-b");
    address.run_id = RUN;
    expect_ok(publish(address, "loss"));
}

Test(publish, a_refused_run_leaves_no_channel_and_no_generation) {
    sw_address address = at("train", 7);
    address.run_id = "run-b";
    publish(address, "loss");
    cr_assert_eq(info().channel_count, 0);
    cr_assert_eq(store_generation(store), 0);
}

Test(publish, the_first_publish_begins_generation_1) {
    cr_assert_eq(store_generation(store), 0);
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert_eq(store_generation(store), 1);
}

Test(publish, an_older_generation_is_stale) {
    attach(3, STAGE, 0);
    expect_refused(publish(of_generation(2, at("train", 7)), "loss"), SW_FAILED_PRECONDITION,
                   SW_REASON_STALE_GENERATION);
    expect_metadata(&refused, "generation", "3");
    expect_ok(publish(of_generation(3, at("train", 7)), "loss"));
}

Test(publish, a_newer_generation_is_not_attached) {
    expect_refused(publish(of_generation(2, at("train", 7)), "loss"), SW_FAILED_PRECONDITION,
                   SW_REASON_NOT_ATTACHED);
    expect_metadata(&refused, "generation", "1");
    cr_assert_eq(store_generation(store), 0);
}

Test(publish, the_same_content_again_is_a_duplicate) {
    expect_ok(publish(at("train", 7), "loss"));
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert(was_duplicate());
    cr_assert_eq(channel_info("train", SW_METRICS).items, 1);
}

Test(publish, other_content_is_a_conflict) {
    expect_ok(publish(at("train", 7), "loss"));
    expect_refused(publish(at("train", 7), "other"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_sentence(&refused, "step 7");
    expect_answer(pull_now(SW_METRICS, at("train", 7)), "loss");
}

Test(publish, an_old_duplicate_is_known_before_it_went_back) {
    expect_ok(publish(at("train", 7), "loss"));
    expect_ok(publish(at("train", 8), "next"));
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert(was_duplicate());
    expect_refused(publish(at("train", 7), "other"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
}

Test(publish, steps_grow_within_a_channel) {
    expect_ok(publish(at("train", 7), "loss"));
    expect_refused(publish(at("train", 6), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
    expect_metadata(&refused, "latest", "7/0");
    expect_ok(publish(at("eval", 6), "another channel"));
}

Test(publish, calls_grow_within_a_step) {
    expect_ok(publish(at_call("train", 7, 2), "third"));
    expect_refused(publish(at_call("train", 7, 1), "second"), SW_FAILED_PRECONDITION,
                   SW_REASON_STEP_WENT_BACK);
    expect_ok(publish(at_call("train", 7, 3), "fourth"));
    expect_ok(publish(at("train", 8), "gaps are allowed"));
}

Test(publish, the_largest_step_and_call_can_be_published) {
    expect_ok(publish(at_call("train", SW_STEP_MAX, UINT32_MAX), "last"));
    expect_answer(pull_now(SW_METRICS, at_call("train", SW_STEP_MAX, UINT32_MAX)), "last");
}

Test(publish, below_the_policys_next_step_is_back) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .next_step = 5});
    expect_refused(publish(at("train", 4), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
    expect_ok(publish(at("train", 5), "loss"));
}

Test(publish, into_a_closed_channel_is_refused) {
    expect_ok(publish(at("train", 7), "loss"));
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    expect_refused(publish(at("train", 8), "loss"), SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
    expect_ok(publish(at("train", 7), "loss"));
    cr_assert(was_duplicate(), "a retry is known after a close too");
    expect_refused(publish(at("train", 6), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
}

Test(publish, larger_than_a_message_is_too_large) {
    expect_refused(publish_sized(at("train", 7), "loss", SW_MESSAGE_MAX + 1), SW_INVALID_ARGUMENT,
                   SW_REASON_TOO_LARGE);
    expect_ok(publish_sized(at("train", 7), "loss", SW_MESSAGE_MAX));
}

Test(publish, larger_than_the_budget_is_too_large) {
    options.metrics_bytes = 100;
    fixture_reopen();
    expect_refused(publish_sized(at("train", 7), "loss", 101), SW_INVALID_ARGUMENT, SW_REASON_TOO_LARGE);
    expect_sentence(&refused, "--metrics-bytes");
    expect_ok(publish_sized(at("train", 7), "loss", 100));
}

Test(publish, a_channel_exists_from_a_publish_that_is_refused_for_its_content) {
    publish_sized(at("train", 7), "loss", SW_MESSAGE_MAX + 1);
    cr_assert_eq(info().channel_count, 1);
    cr_assert_eq(store_generation(store), 1);
}

Test(publish, going_down_refuses) {
    store_drain(store);
    expect_refused(publish(at("train", 7), "loss"), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_refused(publish_failure(at("train", 7), SW_METRICS, "boom"), SW_UNAVAILABLE,
                   SW_REASON_SHUTTING_DOWN);
    expect_refused(close_channel(at("train", 7), SW_METRICS, SW_CLOSE_FINISHED, ""), SW_UNAVAILABLE,
                   SW_REASON_SHUTTING_DOWN);
    cr_assert_eq(info().channel_count, 0);
}

/* ---- which digests are known ---- */

static void publish_steps(uint64_t from, uint64_t to) {
    for (uint64_t step = from; step <= to; step++) expect_ok(publish(at("train", step), "loss"));
}

Test(publish, the_last_64_items_can_be_compared_after_they_have_gone) {
    options.keep_steps = 1;
    fixture_reopen();
    publish_steps(1, 100);
    expect_ok(publish(at("train", 37), "loss"));
    cr_assert(was_duplicate());
    expect_refused(publish(at("train", 37), "other"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_refused(publish(at("train", 36), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
}

Test(publish, what_is_held_can_be_compared_however_old_it_is) {
    publish_steps(1, 200);
    expect_ok(publish(at("train", 1), "loss"));
    cr_assert(was_duplicate());
}

/* ---- a failure is an item ---- */

Test(failure, it_answers_pulls_of_its_address) {
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    struct puller *puller = pull_now(SW_METRICS, at("train", 7));
    expect_refusal(puller, SW_ABORTED, SW_REASON_STEP_FAILED);
    expect_metadata(&puller->pull.error, "message", "out of memory");
}

Test(failure, the_same_message_again_is_a_duplicate) {
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    cr_assert(was_duplicate());
    expect_refused(publish_failure(at("train", 7), SW_METRICS, "other"), SW_ALREADY_EXISTS,
                   SW_REASON_CONFLICT);
}

Test(failure, an_item_where_a_failure_is_and_the_other_way_round_are_conflicts) {
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    expect_refused(publish(at("train", 7), "out of memory"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_ok(publish(at("train", 8), "loss"));
    expect_refused(publish_failure(at("train", 8), SW_METRICS, "loss"), SW_ALREADY_EXISTS,
                   SW_REASON_CONFLICT);
}

Test(failure, it_advances_the_latest) {
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    expect_refused(publish(at("train", 6), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
    expect_refusal(pull_now(SW_METRICS, at("train", 6)), SW_NOT_FOUND, SW_REASON_SKIPPED);
}

Test(failure, it_counts_as_a_step_for_keeping) {
    options.keep_steps = 2;
    fixture_reopen();
    publish_steps(1, 2);
    expect_ok(publish_failure(at("train", 3), SW_METRICS, "out of memory"));
    expect_refusal(pull_now(SW_METRICS, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(failure, a_long_message_is_cut_at_a_character_and_compared_whole) {
    char message[LIMIT_CLOSE_MESSAGE + 10];
    memset(message, 'x', sizeof message);
    memcpy(message + LIMIT_CLOSE_MESSAGE - 1, "ö tail", 8);
    expect_ok(publish_failure(at("train", 7), SW_METRICS, message));
    struct watcher *watcher = watch(WATCH_OLDEST_HELD);
    struct watch_event event;
    const struct store_item *item;
    cr_assert(store_watch_next(store, &watcher->watch, &event, &item));
    cr_assert_eq(strlen(event.failed.message), LIMIT_CLOSE_MESSAGE - 1);
    expect_ok(publish_failure(at("train", 7), SW_METRICS, message));
    cr_assert(was_duplicate());
    message[LIMIT_CLOSE_MESSAGE + 2] = '!';
    expect_refused(publish_failure(at("train", 7), SW_METRICS, message), SW_ALREADY_EXISTS,
                   SW_REASON_CONFLICT);
}
STORE_SUITE(failure);
