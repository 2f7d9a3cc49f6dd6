/* contract.md, Addresses: generations, and who begins them. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(generation);

Test(generation, an_endpoint_begins_with_none) {
    cr_assert_eq(store_generation(store), 0);
    cr_assert_eq(info().generation, 0);
}

Test(generation, an_option_begins_with_one) {
    options.generation = 4;
    fixture_reopen();
    cr_assert_eq(store_generation(store), 4);
    expect_ok(publish(at("train", 1), "loss"));
    cr_assert_eq(pull_now(SW_METRICS, at("train", 1))->pull.item->address.generation, 4);
    expect_refusal(pull_now(SW_METRICS, of_generation(3, at("train", 1))), SW_ABORTED, SW_REASON_SUPERSEDED);
}

Test(generation, the_first_attach_sets_it) {
    struct holder *holder = attach(7, STAGE, 0);
    cr_assert(holder->granted);
    cr_assert_eq(holder->lease.generation, 7);
    cr_assert_eq(store_generation(store), 7);
}

Test(generation, attach_with_0_means_the_current_one_or_1) {
    cr_assert_eq(attach(0, STAGE, 0)->lease.generation, 1);
    attach(5, STAGE, 0);
    cr_assert_eq(attach(0, STAGE, 0)->lease.generation, 5);
}

Test(generation, a_lower_one_is_stale) {
    attach(5, STAGE, 0);
    cr_assert_null(attach(4, STAGE, 0));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_STALE_GENERATION);
    expect_metadata(&refused, "generation", "5");
}

Test(generation, a_higher_one_lets_the_items_go) {
    publish(at("train", 1), "old");
    publish_tensors(at("acts", 1), "old", 10);
    attach(2, STAGE, 0);
    cr_assert_eq(info().channel_count, 0);
    cr_assert_eq(info().held_bytes, 0);
    cr_assert_eq(info().load.metrics_held_bytes, 0);
    expect_waiting(pull(SW_METRICS, at("train", 1)));
}

Test(generation, a_step_repeated_after_a_resume_is_never_answered_with_its_old_value) {
    publish(at("train", 1), "old");
    attach(2, STAGE, 0);
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    expect_ok(publish(at("train", 1), "new"));
    cr_assert_not(was_duplicate());
    expect_answer(waits, "new");
}

Test(generation, a_higher_one_ends_the_leases_of_the_lower) {
    struct holder *one = attach(1, STAGE, 0), *two = attach(1, STAGE, 0), *other = attach(1, 1, 0);
    attach(2, STAGE, 0);
    struct holder *all[] = {one, two, other};
    for (int i = 0; i < 3; i++) {
        cr_assert(all[i]->ended);
        cr_assert_eq(all[i]->why.reason, SW_REASON_STALE_GENERATION);
        expect_metadata(&all[i]->why, "generation", "2");
    }
    cr_assert_eq(info().lease_count, 1);
}

Test(generation, a_lease_that_was_superseded_is_no_loss) {
    struct holder *old = attach(1, 1, 0);
    attach(2, STAGE, 0);
    detach(old);
    advance(options.publisher_grace_ms);
    expect_waiting(pull(SW_METRICS, of_stage(1, at("train", 1))));
}

Test(generation, losses_and_graces_of_the_lower_are_forgotten) {
    detach(attach(1, 1, 0));
    advance(options.publisher_grace_ms);
    detach(attach(1, 2, 0));
    attach(2, STAGE, 0);
    advance(options.publisher_grace_ms);
    expect_waiting(pull(SW_METRICS, of_stage(1, at("train", 1))));
    expect_waiting(pull(SW_METRICS, of_stage(2, at("train", 1))));
}

Test(generation, the_same_one_again_changes_nothing) {
    attach(2, STAGE, 0);
    publish(at("train", 1), "loss");
    attach(2, STAGE, 0);
    expect_answer(pull_now(SW_METRICS, at("train", 1)), "loss");
}

Test(generation, streams_go_on_from_the_memory_they_hold) {
    publish_tensors(at("acts", 1), "old", 10);
    struct puller *stream = pull_now(SW_TENSORS, at("acts", 1));
    attach(2, STAGE, 0);
    publish_tensors(at("acts", 1), "new", 10);
    expect_answer(stream, "old");
    cr_assert_eq(stream->pull.item->address.generation, 1);
    expect_answer(pull_now(SW_TENSORS, at("acts", 1)), "new");
}

/* ---- who may not publish begins none ---- */

Test(generation, anothers_higher_attach_is_answered_when_it_begins) {
    attach(1, STAGE, 0);
    struct holder *reader = attach_reader(2, 1, 0);
    cr_assert_not(reader->granted);
    cr_assert_eq(store_generation(store), 1);
    attach(2, STAGE, 0);
    cr_assert(reader->granted);
    cr_assert_eq(reader->lease.generation, 2);
    cr_assert_not(reader->ended);
}

Test(generation, anothers_attach_waits_for_the_first_one_too) {
    struct holder *zero = attach_reader(0, 1, 0), *one = attach_reader(1, 2, 0);
    cr_assert_not(zero->granted);
    cr_assert_not(one->granted);
    cr_assert_eq(store_generation(store), 0);
    publish(at("train", 1), "loss");
    cr_assert(zero->granted);
    cr_assert(one->granted);
    cr_assert_eq(info().lease_count, 2);
}

Test(generation, attach_with_0_takes_the_first_that_begins_whichever_it_is) {
    struct holder *zero = attach_reader(0, 1, 0);
    attach(9, STAGE, 0);
    cr_assert(zero->granted);
    cr_assert_eq(zero->lease.generation, 9);
}

Test(generation, one_that_was_overtaken_is_stale) {
    struct holder *reader = attach_reader(2, 1, 0), *later = attach_reader(4, 1, 0);
    attach(3, STAGE, 0);
    cr_assert(reader->ended);
    cr_assert_eq(reader->why.reason, SW_REASON_STALE_GENERATION);
    cr_assert_not(later->ended);
    cr_assert_not(later->granted);
}

Test(generation, a_pending_one_that_goes_is_no_loss) {
    attach(1, STAGE, 0);
    detach(attach_reader(2, 1, 0));
    advance(options.publisher_grace_ms);
    expect_waiting(pull(SW_METRICS, of_stage(1, at("train", 1))));
    attach(2, STAGE, 0);
    cr_assert_eq(info().lease_count, 1);
}

Test(generation, a_pending_one_is_refused_when_the_endpoint_goes_down) {
    struct holder *reader = attach_reader(2, 1, 0);
    store_drain(store);
    cr_assert(reader->ended);
    cr_assert_eq(reader->why.reason, SW_REASON_SHUTTING_DOWN);
}

Test(generation, anothers_attach_to_the_current_one_is_granted_at_once) {
    attach(2, STAGE, 0);
    cr_assert(attach_reader(2, 1, 0)->granted);
    cr_assert(attach_reader(0, 1, 0)->granted);
    cr_assert_null(attach_reader(1, 1, 0));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_STALE_GENERATION);
}
