/* contract.md, Pulling: the table, a row a test, and its order where several rows fit. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(pull);

static struct puller *pull_range(sw_address address, const char *name, uint64_t first, uint64_t count) {
    static struct tensor_range range;
    range = (struct tensor_range){name, first, count};
    struct pull_request request = {
        .address = address, .ranges = &range, .range_count = 1, .wait.no_wait = true};
    return pull_request(SW_TENSORS, request, CLOCK_NEVER);
}

Test(pull, another_run_is_refused) {
    publish(at("train", 1), "loss");
    sw_address address = at("train", 1);
    address.run_id = "run-b";
    expect_refusal(pull(SW_METRICS, address), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
}

Test(pull, an_older_generation_is_superseded) {
    attach(2, STAGE, 0);
    struct puller *puller = pull(SW_METRICS, of_generation(1, at("train", 1)));
    expect_refusal(puller, SW_ABORTED, SW_REASON_SUPERSEDED);
    expect_metadata(&puller->pull.error, "generation", "2");
}

Test(pull, a_tensor_that_the_item_lacks_is_named_with_those_it_has) {
    publish_tensors(at("acts", 1), "bytes", 3000);
    struct puller *puller = pull_range(at("acts", 1), "logits", 0, 0);
    expect_refusal(puller, SW_NOT_FOUND, SW_REASON_NO_SUCH_TENSOR);
    expect_metadata(&puller->pull.error, "tensors", "[\"t\"]");
    expect_sentence(&puller->pull.error, "logits");
}

Test(pull, blocks_outside_the_tensor_are_a_bad_range) {
    publish_tensors(at("acts", 1), "bytes", 3000); /* three blocks */
    expect_refusal(pull_range(at("acts", 1), "t", 3, 0), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
    expect_refusal(pull_range(at("acts", 1), "t", 2, 2), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
    expect_refusal(pull_range(at("acts", 1), "t", 1, UINT64_MAX), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
    expect_refusal(pull_range(at("acts", 1), "t", UINT64_MAX, 0), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
    expect_answer(pull_range(at("acts", 1), "t", 2, 1), "bytes");
    expect_answer(pull_range(at("acts", 1), "t", 0, 0), "bytes");
}

Test(pull, an_empty_tensor_can_be_asked_for_whole) {
    publish_tensors(at("acts", 1), "", 0);
    expect_answer(pull_range(at("acts", 1), "t", 0, 0), "");
    expect_refusal(pull_range(at("acts", 1), "t", 0, 1), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
}

Test(pull, a_refused_stream_leaves_no_stream) {
    publish_tensors(at("acts", 1), "bytes", 3000);
    pull_range(at("acts", 1), "logits", 0, 0);
    cr_assert_eq(info().load.streams, 0);
    pull_now(SW_TENSORS, at("acts", 1));
    cr_assert_eq(info().load.streams, 1);
}

Test(pull, an_item_that_was_published_and_is_gone_is_evicted) {
    options.keep_steps = 2;
    fixture_reopen();
    for (uint64_t step = 1; step <= 5; step++) publish(at("train", step), "loss");
    struct puller *puller = pull(SW_METRICS, at("train", 3));
    expect_refusal(puller, SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_metadata(&puller->pull.error, "oldest", "4/0");
    expect_sentence(&puller->pull.error, "step 3");
}

Test(pull, below_the_latest_and_never_published_is_skipped) {
    publish(at("train", 1), "loss");
    publish(at("train", 5), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 3)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at_call("train", 1, 1)), SW_NOT_FOUND, SW_REASON_SKIPPED);
}

Test(pull, below_all_that_is_known_it_is_evicted_if_anything_was_forgotten) {
    options.keep_steps = 1;
    fixture_reopen();
    for (uint64_t step = 0; step < 64; step++) publish(at("train", 10 + 2 * step), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at("train", 11)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at("train", 10)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    publish(at("train", 1000), "loss"); /* the 65th: step 10 is forgotten */
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_refusal(pull(SW_METRICS, at("train", 11)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_refusal(pull(SW_METRICS, at("train", 13)), SW_NOT_FOUND, SW_REASON_SKIPPED);
}

Test(pull, below_next_step_it_is_evicted) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .next_step = 5});
    struct puller *puller = pull(SW_METRICS, at("train", 4));
    expect_refusal(puller, SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_metadata(&puller->pull.error, "oldest", NULL);
    expect_waiting(pull(SW_METRICS, at("train", 5)));
}

/* A trainer whose lease is taken up again says how far it has come, also to an endpoint that knows. */
Test(pull, a_next_step_that_rises_later_changes_nothing_of_what_is_known) {
    publish(at("train", 3), "loss");
    publish(at("train", 5), "loss");
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .next_step = 8});
    expect_refusal(pull(SW_METRICS, at("train", 4)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_answer(pull(SW_METRICS, at("train", 3)), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 2)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_refusal(pull(SW_METRICS, at("train", 6)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(pull, beyond_the_last_of_a_finished_channel_is_finished) {
    publish(at_call("train", 7, 2), "loss");
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    struct puller *puller = pull(SW_METRICS, at("train", 8));
    expect_refusal(puller, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_metadata(&puller->pull.error, "last", "7/2");
    expect_answer(pull(SW_METRICS, at_call("train", 7, 2)), "loss");
}

Test(pull, a_channel_that_finished_empty_names_no_last) {
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    struct puller *puller = pull(SW_METRICS, at("train", 0));
    expect_refusal(puller, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_metadata(&puller->pull.error, "last", NULL);
}

Test(pull, an_aborted_channel_says_why) {
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN loss");
    struct puller *puller = pull(SW_METRICS, at("train", 0));
    expect_refusal(puller, SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
    expect_metadata(&puller->pull.error, "message", "NaN loss");
}

Test(pull, no_wait_is_not_found_and_a_wait_that_ends_is_a_deadline) {
    publish(at("train", 1), "loss");
    struct puller *puller = pull_now(SW_METRICS, at("train", 2));
    expect_refusal(puller, SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_metadata(&puller->pull.error, "latest", "1/0");
    struct puller *waits = pull_request(SW_METRICS, (struct pull_request){.address = at("train", 2)}, 100);
    advance(99);
    expect_waiting(waits);
    advance(1);
    expect_refusal(waits, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
    expect_metadata(&waits->pull.error, "latest", "1/0");
}

Test(pull, not_yet_in_an_unknown_channel_names_no_latest) {
    struct puller *puller = pull_now(SW_METRICS, at("train", 2));
    expect_refusal(puller, SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_metadata(&puller->pull.error, "latest", NULL);
}

Test(pull, a_time_that_is_over_already_is_answered_at_once) {
    advance(10);
    struct puller *puller = pull_request(SW_METRICS, (struct pull_request){.address = at("train", 2)}, 0);
    expect_refusal(puller, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
}

/* ---- the latest ---- */

Test(latest, it_is_the_newest_that_is_no_failure) {
    publish(at("train", 1), "one");
    publish(at("train", 2), "two");
    publish_failure(at("train", 3), SW_METRICS, "boom");
    expect_answer(pull_latest_now(SW_METRICS, "train"), "two");
}

Test(latest, it_waits_only_while_there_is_none) {
    publish_failure(at("train", 3), SW_METRICS, "boom");
    struct puller *waits = pull_latest(SW_METRICS, "train");
    expect_waiting(waits);
    publish_failure(at("train", 4), SW_METRICS, "boom");
    expect_waiting(waits);
    publish(at("train", 5), "five");
    expect_answer(waits, "five");
}

Test(latest, in_a_closed_channel_without_one_the_closing_answers) {
    publish_failure(at("train", 3), SW_METRICS, "boom");
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    struct puller *puller = pull_latest(SW_METRICS, "train");
    expect_refusal(puller, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_metadata(&puller->pull.error, "last", "3/0");
}

Test(latest, in_a_closed_channel_with_one_it_is_answered) {
    publish(at("train", 3), "three");
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "why");
    expect_answer(pull_latest(SW_METRICS, "train"), "three");
}

Test(latest, it_never_crosses_a_generation) {
    publish(at("train", 3), "three");
    attach(2, STAGE, 0);
    expect_waiting(pull_latest(SW_METRICS, "train"));
}

Test(latest, one_that_went_for_room_is_no_longer_the_latest) {
    options.metrics_bytes = 10;
    fixture_reopen();
    publish_sized(at("train", 1), "one", 10);
    publish_sized(at("other", 1), "other", 10);
    expect_refusal(pull_latest_now(SW_METRICS, "train"), SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_refusal(pull_now(SW_METRICS, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}
STORE_SUITE(latest);

/* ---- which stage is meant ---- */

Test(stage, the_only_stage_that_has_the_channel_is_meant) {
    publish(of_stage(1, at("train", 1)), "one");
    expect_answer(pull_now(SW_METRICS, at("train", 1)), "one");
    cr_assert_eq(pull_now(SW_METRICS, at("train", 1))->pull.item->address.stage, 1);
}

Test(stage, without_any_the_endpoints_own_is_meant) {
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    publish(of_stage(1, at("train", 1)), "one");
    expect_waiting(waits);
    publish(of_stage(STAGE, at("train", 1)), "own");
    expect_answer(waits, "own");
}

Test(stage, several_are_ambiguous) {
    publish(of_stage(2, at("train", 1)), "two");
    publish(of_stage(1, at("train", 1)), "one");
    struct puller *puller = pull_now(SW_METRICS, at("train", 1));
    expect_refusal(puller, SW_INVALID_ARGUMENT, SW_REASON_AMBIGUOUS_STAGE);
    expect_metadata(&puller->pull.error, "stages", "[1,2]");
    expect_answer(pull_now(SW_METRICS, of_stage(2, at("train", 1))), "two");
    expect_refused(release(SW_METRICS, at("train", 0), "c", 1), SW_INVALID_ARGUMENT,
                   SW_REASON_AMBIGUOUS_STAGE);
}

Test(stage, other_groups_and_kinds_do_not_count) {
    publish(of_group(1, of_stage(1, at("train", 1))), "group 1");
    publish_tensors(of_stage(2, at("train", 1)), "tensors", 10);
    expect_waiting(pull(SW_METRICS, at("train", 1)));
    expect_answer(pull_now(SW_METRICS, of_group(1, at("train", 1))), "group 1");
}

Test(stage, it_is_settled_on_arrival) {
    publish(of_stage(1, at("train", 1)), "one");
    struct puller *waits = pull(SW_METRICS, at("train", 2));
    publish(of_stage(2, at("train", 2)), "two");
    expect_waiting(waits);
    publish(of_stage(1, at("train", 2)), "one more");
    expect_answer(waits, "one more");
}

Test(stage, a_publish_without_one_is_the_endpoints_own) {
    publish(of_stage(1, at("train", 1)), "one");
    publish(at("train", 1), "own");
    expect_answer(pull_now(SW_METRICS, of_stage(STAGE, at("train", 1))), "own");
}
STORE_SUITE(stage);

/* ---- order ---- */

Test(pull_order, held_comes_before_all_that_is_wrong_with_the_channel) {
    struct holder *holder = attach(1, STAGE, 0);
    publish(at("train", 1), "loss");
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "why");
    detach(holder);
    advance(options.publisher_grace_ms);
    store_drain(store);
    expect_answer(pull(SW_METRICS, at("train", 1)), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 0)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at("train", 2)), SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
    expect_refusal(pull(SW_METRICS, at("eval", 2)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_refusal(pull(SW_METRICS, of_stage(1, at("eval", 2))), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
}

Test(pull_order, superseded_comes_before_what_the_current_generation_holds) {
    attach(2, STAGE, 0);
    publish(at("train", 1), "loss");
    expect_refusal(pull(SW_METRICS, of_generation(1, at("train", 1))), SW_ABORTED, SW_REASON_SUPERSEDED);
}

Test(pull_order, a_missing_tensor_comes_before_blocks_outside_another) {
    publish_tensors(at("acts", 1), "bytes", 3000);
    struct tensor_range ranges[] = {{"t", 99, 0}, {"nope", 0, 0}};
    struct pull_request request = {.address = at("acts", 1), .ranges = ranges, .range_count = 2};
    expect_refusal(pull_request(SW_TENSORS, request, CLOCK_NEVER), SW_NOT_FOUND, SW_REASON_NO_SUCH_TENSOR);
}

Test(pull_order, a_failure_comes_before_the_tensors_that_are_asked_for) {
    publish_failure(at("acts", 1), SW_TENSORS, "boom");
    expect_refusal(pull_range(at("acts", 1), "t", 0, 0), SW_ABORTED, SW_REASON_STEP_FAILED);
}

Test(pull_order, no_wait_asks_for_no_room_among_the_waiters) {
    options.max_waiters = 1;
    fixture_reopen();
    pull(SW_METRICS, at("train", 1));
    expect_refusal(pull_now(SW_METRICS, at("train", 1)), SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT);
}
STORE_SUITE(pull_order);
