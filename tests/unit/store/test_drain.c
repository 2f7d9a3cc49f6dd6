/* contract.md, Pulling: draining. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(drain);

Test(drain, what_is_held_and_what_is_certain_is_still_answered) {
    publish(at("train", 1), "loss");
    publish(at("train", 3), "loss");
    publish_failure(at("train", 4), SW_METRICS, "boom");
    close_channel(at("eval", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    store_drain(store);
    cr_assert(store_draining(store));
    expect_answer(pull(SW_METRICS, at("train", 1)), "loss");
    expect_refusal(pull(SW_METRICS, at("train", 2)), SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(pull(SW_METRICS, at("train", 4)), SW_ABORTED, SW_REASON_STEP_FAILED);
    expect_refusal(pull(SW_METRICS, at("eval", 4)), SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_answer(pull_latest(SW_METRICS, "train"), "loss");
}

Test(drain, waits_and_leases_are_refused) {
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    struct puller *latest = pull_latest(SW_METRICS, "train");
    struct puller *to_come = pull(SW_METRICS, of_generation(9, at("train", 1)));
    store_drain(store);
    expect_refusal(waits, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_refusal(latest, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_refusal(to_come, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    expect_refusal(pull_now(SW_METRICS, at("train", 1)), SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
    cr_assert_null(attach(1, STAGE, 0));
    expect_refused(refused.code, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
}

Test(drain, a_loss_that_comes_meanwhile_is_certain) {
    struct holder *holder = attach(1, STAGE, 0);
    detach(holder);
    store_drain(store);
    advance(options.publisher_grace_ms);
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

Test(drain, it_is_over_at_once_where_nobody_needs_anything) {
    publish(at("train", 1), "loss");
    cr_assert_not(store_drained(store));
    store_drain(store);
    cr_assert(store_drained(store));
}

Test(drain, it_lasts_until_no_expected_consumer_needs_a_held_step) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"a", "b"}},
                {.channel = "acts", .kind = SW_TENSORS, .consumers = {"a"}});
    publish(at("train", 1), "loss");
    publish_tensors(at("acts", 1), "bytes", 10);
    store_drain(store);
    cr_assert_not(store_drained(store));
    expect_ok(release(SW_METRICS, at("train", 0), "a", 2));
    expect_ok(release(SW_TENSORS, at("acts", 0), "a", 2));
    cr_assert_not(store_drained(store));
    expect_ok(release(SW_METRICS, at("train", 0), "b", 2));
    cr_assert(store_drained(store));
}

Test(drain, it_lasts_no_longer_than_the_grace) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"a"}});
    publish(at("train", 1), "loss");
    store_drain(store);
    cr_assert_eq(store_due_ms(store), now() + options.drain_grace_ms);
    advance(options.drain_grace_ms - 1);
    cr_assert_not(store_drained(store));
    advance(1);
    cr_assert(store_drained(store));
}

Test(drain, again_changes_nothing) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"a"}});
    publish(at("train", 1), "loss");
    store_drain(store);
    advance(options.drain_grace_ms - 1);
    store_drain(store);
    advance(1);
    cr_assert(store_drained(store));
}
