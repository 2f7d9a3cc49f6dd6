/* contract.md, Publishing: leases, and the loss of a (stage, group). */
#include "tests/unit/store/fixture.h"

STORE_SUITE(lease);

#define GRACE store_options_default().publisher_grace_ms

Test(lease, when_the_last_one_breaks_there_is_the_grace_to_come_back) {
    struct holder *holder = attach(1, STAGE, 0);
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    detach(holder);
    cr_assert_eq(store_due_ms(store), now() + GRACE);
    advance(GRACE - 1);
    expect_waiting(waits);
    advance(1);
    expect_refusal(waits, SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(lease, one_break_of_several_is_no_loss) {
    struct holder *one = attach(1, STAGE, 0), *two = attach(1, STAGE, 0);
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    detach(one);
    advance(10 * GRACE);
    expect_waiting(waits);
    detach(two);
    advance(GRACE);
    expect_refusal(waits, SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(lease, who_comes_back_within_the_grace_was_never_lost) {
    struct holder *holder = attach(1, STAGE, 0);
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    detach(holder);
    advance(GRACE - 1);
    attach(1, STAGE, 0);
    advance(GRACE);
    expect_waiting(waits);
}

Test(lease, a_lost_stage_answers_at_once_unknown_channels_included) {
    detach(attach(1, STAGE, 0));
    advance(GRACE);
    expect_refusal(pull(SW_METRICS, at("never", 1)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_refusal(pull_latest(SW_TENSORS, "never"), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_waiting(pull(SW_METRICS, of_group(1, at("never", 1))));
    expect_waiting(pull(SW_METRICS, of_stage(1, at("never", 1))));
}

Test(lease, what_a_lost_stage_published_is_still_answered) {
    struct holder *holder = attach(1, STAGE, 0);
    publish(at("train", 1), "loss");
    detach(holder);
    advance(GRACE);
    expect_answer(pull(SW_METRICS, at("train", 1)), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 0)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at("train", 2)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(lease, a_loss_lasts_until_somebody_attaches) {
    detach(attach(1, STAGE, 0));
    advance(GRACE);
    attach(1, STAGE, 0);
    expect_waiting(pull(SW_METRICS, at("train", 1)));
}

Test(lease, publishing_without_a_lease_neither_ends_a_loss_nor_stops_the_grace) {
    struct holder *holder = attach(1, STAGE, 0);
    detach(holder);
    advance(GRACE - 1);
    expect_ok(publish(at("train", 1), "loss"));
    advance(1);
    expect_refusal(pull(SW_METRICS, at("train", 2)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    expect_ok(publish(at("train", 2), "loss"));
    expect_refusal(pull(SW_METRICS, at("train", 3)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(lease, where_nobody_attached_nothing_is_lost) {
    publish(at("train", 1), "loss");
    advance(2 * GRACE);
    expect_waiting(pull(SW_METRICS, at("train", 2)));
}

Test(lease, it_is_shown_while_it_is_held_or_lost) {
    struct holder *holder = attach(1, 1, 2);
    cr_assert_eq(info().lease_count, 1);
    cr_assert_eq(info().leases[0].stage, 1);
    cr_assert_eq(info().leases[0].group, 2);
    cr_assert_eq(info().leases[0].stage_count, 4);
    cr_assert_not(info().leases[0].lost);
    detach(holder);
    cr_assert_eq(info().lease_count, 0);
    advance(GRACE);
    cr_assert_eq(info().lease_count, 1);
    cr_assert(info().leases[0].lost);
}

Test(lease, another_run_is_refused) {
    sw_attachment attachment = {.run_id = "run-b", .generation = 1, .stage = STAGE, .stage_count = 4};
    struct store_lease lease = {.generation = 0};
    bool pending;
    expect_refused(store_attach(store, &lease, &attachment, true, &pending, &refused), SW_FAILED_PRECONDITION,
                   SW_REASON_RUN_MISMATCH);
    cr_assert_eq(store_generation(store), 0);
}

Test(lease, a_loss_that_is_due_with_a_wait_answers_it) {
    struct holder *holder = attach(1, STAGE, 0);
    struct puller *waits = pull_request(SW_METRICS, (struct pull_request){.address = at("train", 1)}, GRACE);
    detach(holder);
    advance(GRACE);
    expect_refusal(waits, SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}
