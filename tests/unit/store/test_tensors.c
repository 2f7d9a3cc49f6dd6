/* contract.md, Publishing: a tensor publish takes its place and its room at the manifest. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(tensors);

static void small_store(uint64_t bytes) {
    options.store_bytes = bytes;
    options.keep_tensor_steps = 4;
    fixture_reopen();
}

Test(tensors, an_item_appears_whole_when_it_is_committed) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    expect_refusal(pull_now(SW_TENSORS, at("acts", 1)), SW_NOT_FOUND, SW_REASON_NOT_YET);
    struct puller *waits = pull(SW_TENSORS, at("acts", 1));
    expect_waiting(waits);
    expect_ok(end_tensors(upload, "bytes"));
    expect_answer(waits, "bytes");
}

Test(tensors, another_publish_of_the_channel_is_in_progress) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    cr_assert_null(begin_tensors(at("acts", 2), 10));
    expect_refused(refused.code, SW_ABORTED, SW_REASON_PUBLISH_IN_PROGRESS);
    expect_sentence(&refused, "1/0");
    expect_refused(publish_failure(at("acts", 2), SW_TENSORS, "boom"), SW_ABORTED,
                   SW_REASON_PUBLISH_IN_PROGRESS);
    cr_assert_not_null(begin_tensors(at("other", 2), 10));
    expect_ok(end_tensors(upload, "bytes"));
    cr_assert_not_null(begin_tensors(at("acts", 2), 10));
}

Test(tensors, a_broken_one_gives_place_and_room_back) {
    small_store(10);
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    cr_assert_eq(info().held_bytes, 10);
    store_publish_abandon(store, &upload->publish);
    cr_assert_eq(info().held_bytes, 0);
    cr_assert_eq(info().load.open_publishes, 0);
    cr_assert_eq(channel_info("acts", SW_TENSORS).items, 0);
    expect_ok(publish_tensors(at("acts", 0), "bytes", 10));
}

Test(tensors, an_open_one_reserves_its_room) {
    small_store(10);
    struct upload *upload = begin_tensors(at("acts", 1), 6);
    cr_assert_null(begin_tensors(at("other", 1), 5));
    expect_refused(refused.code, SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    cr_assert_not_null(begin_tensors(at("other", 1), 4));
    expect_ok(end_tensors(upload, "bytes"));
}

Test(tensors, larger_than_the_budget_is_too_large) {
    small_store(10);
    cr_assert_null(begin_tensors(at("acts", 1), 11));
    expect_refused(refused.code, SW_INVALID_ARGUMENT, SW_REASON_TOO_LARGE);
    expect_sentence(&refused, "--store-bytes");
}

Test(tensors, a_manifest_that_fits_no_message_is_too_large) {
    struct store_publish open = {.known = false};
    sw_address address = at("acts", 1);
    expect_refused(store_publish_open(store, &open, &address, 1, false, &refused), SW_INVALID_ARGUMENT,
                   SW_REASON_TOO_LARGE);
    expect_sentence(&refused, "manifest");
}

Test(tensors, refusals_that_the_manifest_decides_come_at_the_manifest) {
    expect_ok(publish_tensors(at("acts", 5), "bytes", 10));
    cr_assert_null(begin_tensors(at("acts", 4), 10));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
    expect_ok(publish_failure(at("acts", 6), SW_TENSORS, "boom"));
    cr_assert_null(begin_tensors(at("acts", 6), 10));
    expect_refused(refused.code, SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_ok(close_channel(at("acts", 0), SW_TENSORS, SW_CLOSE_FINISHED, ""));
    cr_assert_null(begin_tensors(at("acts", 7), 10));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
}

/* ---- to a known address ---- */

Test(tensors, the_same_again_is_a_duplicate_and_takes_neither_place_nor_room) {
    small_store(10);
    expect_ok(publish_tensors(at("acts", 1), "bytes", 10));
    struct upload *again = begin_tensors(at("acts", 1), 10);
    cr_assert(again->publish.known);
    cr_assert_eq(info().held_bytes, 10);
    struct upload *next = begin_tensors(at("acts", 2), 10);
    cr_assert_not_null(next, "the place is free");
    expect_ok(end_tensors(again, "bytes"));
    cr_assert(was_duplicate());
    expect_ok(end_tensors(next, "next"));
    cr_assert_not(was_duplicate());
}

Test(tensors, other_content_at_a_known_address_is_a_conflict_at_the_end) {
    expect_ok(publish_tensors(at("acts", 1), "bytes", 10));
    struct upload *again = begin_tensors(at("acts", 1), 10);
    cr_assert(again->publish.known);
    expect_refused(end_tensors(again, "other"), SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    cr_assert_eq(info().load.open_publishes, 0);
}

Test(tensors, what_is_compared_is_what_stood_there_at_the_manifest) {
    expect_ok(publish_tensors(at("acts", 1), "bytes", 10));
    struct upload *again = begin_tensors(at("acts", 1), 10);
    for (uint64_t step = 2; step < 100; step++) expect_ok(publish_tensors(at("acts", step), "bytes", 10));
    expect_ok(end_tensors(again, "bytes"));
    cr_assert(was_duplicate());
}

Test(tensors, an_evicted_address_is_known_too) {
    expect_ok(publish_tensors(at("acts", 1), "bytes", 10));
    expect_ok(publish_tensors(at("acts", 2), "bytes", 10));
    expect_refusal(pull_now(SW_TENSORS, at("acts", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    cr_assert(begin_tensors(at("acts", 1), 10)->publish.known);
}

/* ---- what ends an open one at once ---- */

static void expect_ended(const struct upload *upload, sw_status code, sw_reason reason) {
    cr_assert(upload->ended);
    cr_assert_eq(upload->why.code, code);
    cr_assert_eq(upload->why.reason, reason);
    cr_assert_eq(info().load.open_publishes, 0);
    cr_assert_eq(info().held_bytes, 0);
}

Test(tensors, a_newer_generation_ends_it) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    attach(2, STAGE, 0);
    expect_ended(upload, SW_FAILED_PRECONDITION, SW_REASON_STALE_GENERATION);
    expect_metadata(&upload->why, "generation", "2");
}

Test(tensors, a_close_ends_it) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    expect_ok(close_channel(at("acts", 0), SW_TENSORS, SW_CLOSE_ABORTED, "enough"));
    expect_ended(upload, SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
}

Test(tensors, a_close_of_the_whole_stage_ends_it) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    expect_ok(close_all(at("", 0), SW_CLOSE_FINISHED, ""));
    expect_ended(upload, SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
}

Test(tensors, a_drain_ends_it) {
    struct upload *upload = begin_tensors(at("acts", 1), 10);
    store_drain(store);
    expect_ended(upload, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
}

Test(tensors, one_to_a_known_address_is_ended_too) {
    expect_ok(publish_tensors(at("acts", 1), "bytes", 10));
    struct upload *again = begin_tensors(at("acts", 1), 10);
    expect_ok(close_channel(at("acts", 0), SW_TENSORS, SW_CLOSE_FINISHED, ""));
    cr_assert(again->ended);
    cr_assert_eq(info().held_bytes, 10);
}

Test(tensors, metrics_of_the_same_name_go_on_meanwhile) {
    begin_tensors(at("train", 1), 10);
    expect_ok(publish(at("train", 1), "loss"));
}
