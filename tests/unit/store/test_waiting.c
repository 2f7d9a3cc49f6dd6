/* contract.md, Pulling: every pull that waits is answered as soon as the answer is certain, and never later
 * than its deadline. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(waiting);

Test(waiting, a_publish_answers_512_who_wait_for_it) {
    enum { WAITERS = 512 };
    struct puller *all[WAITERS];
    for (int i = 0; i < WAITERS; i++) all[i] = pull(SW_METRICS, at("train", 7));
    cr_assert_eq(info().load.waiting, WAITERS);
    expect_ok(publish(at("train", 7), "loss"));
    for (int i = 0; i < WAITERS; i++) {
        expect_answer(all[i], "loss");
        cr_assert_eq(all[i]->answers, 1);
    }
    cr_assert_eq(info().load.waiting, 0);
}

Test(waiting, a_publish_answers_who_waits_at_or_below_it_and_nobody_else) {
    struct puller *below = pull(SW_METRICS, at("train", 6));
    struct puller *call_before = pull(SW_METRICS, at_call("train", 7, 0));
    struct puller *exact = pull(SW_METRICS, at_call("train", 7, 1));
    struct puller *call_after = pull(SW_METRICS, at_call("train", 7, 2));
    struct puller *above = pull(SW_METRICS, at("train", 8));
    struct puller *other = pull(SW_METRICS, at("eval", 7));
    struct puller *tensors = pull(SW_TENSORS, at("train", 7));
    expect_ok(publish(at_call("train", 7, 1), "loss"));
    expect_refusal(below, SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_refusal(call_before, SW_NOT_FOUND, SW_REASON_SKIPPED);
    expect_answer(exact, "loss");
    expect_waiting(call_after);
    expect_waiting(above);
    expect_waiting(other);
    expect_waiting(tensors);
}

Test(waiting, a_failure_answers_them) {
    struct puller *waits = pull(SW_METRICS, at("train", 7));
    expect_ok(publish_failure(at("train", 7), SW_METRICS, "out of memory"));
    expect_refusal(waits, SW_ABORTED, SW_REASON_STEP_FAILED);
    expect_metadata(&waits->pull.error, "message", "out of memory");
}

Test(waiting, a_duplicate_wakes_nobody) {
    expect_ok(publish(at("train", 7), "loss"));
    struct puller *waits = pull(SW_METRICS, at("train", 8));
    expect_ok(publish(at("train", 7), "loss"));
    expect_waiting(waits);
}

Test(waiting, one_that_is_cancelled_leaves_nothing) {
    long before = allocations();
    struct puller *waits = pull(SW_METRICS, at("never", 7));
    cr_assert_gt(allocations(), before);
    cancel(waits);
    cancel(waits);
    cr_assert_eq(allocations(), before);
    cr_assert_eq(store_due_ms(store), CLOCK_NEVER);
    expect_ok(publish(at("never", 7), "loss"));
    cr_assert_eq(waits->answers, 0);
}

Test(waiting, it_ends_with_the_earlier_of_its_own_end_and_max_wait) {
    options.max_wait_ms = 1000;
    fixture_reopen();
    struct pull_request request = {.address = at("train", 7)};
    struct puller *soon = pull_request(SW_METRICS, request, 500);
    struct puller *late = pull_request(SW_METRICS, request, 5000);
    struct puller *never = pull(SW_METRICS, at("train", 7));
    cr_assert_eq(store_due_ms(store), now() + 500);
    advance(500);
    expect_refusal(soon, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
    advance(499);
    expect_waiting(late);
    expect_waiting(never);
    advance(1);
    expect_refusal(late, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
    expect_refusal(never, SW_DEADLINE_EXCEEDED, SW_REASON_NOT_YET);
    cr_assert_eq(store_due_ms(store), CLOCK_NEVER);
}

Test(waiting, thousands_end_each_in_its_time) {
    enum { WAITERS = 5000 };
    static struct puller *all[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        struct pull_request request = {.address = at("train", (uint64_t)(i * 7919 % WAITERS))};
        all[i] = pull_request(SW_METRICS, request, i * 104729 % WAITERS + 1);
    }
    for (int i = 0; i < WAITERS; i += 3) cancel(all[i]);
    advance(2500);
    for (int i = 0; i < WAITERS; i++)
        cr_assert_eq(all[i]->done, i % 3 != 0 && i * 104729 % WAITERS + 1 <= 2500, "%d", i);
    expect_ok(publish(at("train", 1000), "loss"));
    for (int i = 0; i < WAITERS; i++) {
        bool over = i * 104729 % WAITERS + 1 <= 2500, below = i * 7919 % WAITERS <= 1000;
        cr_assert_eq(all[i]->done, i % 3 != 0 && (over || below), "%d", i);
    }
}

Test(waiting, an_answered_wait_holds_the_item_whatever_happens) {
    options.keep_steps = 1;
    fixture_reopen();
    struct puller *waits = pull(SW_METRICS, at("train", 7));
    expect_ok(publish(at("train", 7), "seven"));
    expect_ok(publish(at("train", 8), "eight"));
    attach(2, STAGE, 0);
    expect_answer(waits, "seven");
}

/* ---- generations ---- */

Test(waiting, a_pull_for_a_generation_to_come_waits_for_it) {
    publish(at("train", 1), "old");
    close_all(at("", 0), SW_CLOSE_FINISHED, "");
    struct puller *waits = pull(SW_METRICS, of_generation(2, at("train", 1)));
    expect_waiting(waits);
    attach(2, STAGE, 0);
    expect_waiting(waits);
    publish(at("train", 1), "new");
    expect_answer(waits, "new");
    cr_assert_eq(waits->pull.item->address.generation, 2);
}

Test(waiting, one_that_was_passed_over_is_superseded) {
    struct puller *waits = pull(SW_METRICS, of_generation(2, at("train", 1)));
    attach(3, STAGE, 0);
    expect_refusal(waits, SW_ABORTED, SW_REASON_SUPERSEDED);
    expect_metadata(&waits->pull.error, "generation", "3");
}

Test(waiting, a_newer_generation_answers_who_waits_in_the_old_one) {
    attach(1, STAGE, 0);
    struct puller *current = pull(SW_METRICS, at("train", 1));
    struct puller *named = pull(SW_METRICS, of_generation(1, at("train", 1)));
    attach(2, STAGE, 0);
    expect_refusal(current, SW_ABORTED, SW_REASON_SUPERSEDED);
    expect_refusal(named, SW_ABORTED, SW_REASON_SUPERSEDED);
}

Test(waiting, generation_0_is_settled_by_the_first_that_begins) {
    struct puller *current = pull(SW_METRICS, at("train", 1));
    struct puller *latest = pull_latest(SW_METRICS, "train");
    struct puller *named = pull(SW_METRICS, of_generation(5, at("train", 1)));
    struct puller *later = pull(SW_METRICS, of_generation(6, at("train", 1)));
    attach(5, STAGE, 0);
    expect_waiting(current);
    publish(at("train", 1), "loss");
    expect_answer(current, "loss");
    expect_answer(latest, "loss");
    expect_answer(named, "loss");
    expect_waiting(later);
}

Test(waiting, one_settled_by_the_first_generation_is_superseded_by_the_second) {
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    attach(1, STAGE, 0);
    attach(2, STAGE, 0);
    expect_refusal(waits, SW_ABORTED, SW_REASON_SUPERSEDED);
}

Test(waiting, a_publish_that_begins_the_first_generation_answers_at_once) {
    struct puller *waits = pull(SW_METRICS, at("train", 1));
    publish(at("train", 1), "loss");
    expect_answer(waits, "loss");
}

Test(waiting, in_a_generation_to_come_closings_and_losses_of_this_one_are_unknown) {
    struct holder *holder = attach(1, STAGE, 0);
    struct puller *waits = pull(SW_METRICS, of_generation(2, at("train", 1)));
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "why");
    close_all(at("", 0), SW_CLOSE_ABORTED, "why");
    detach(holder);
    advance(options.publisher_grace_ms);
    expect_waiting(waits);
    store_drain(store);
    expect_refusal(waits, SW_UNAVAILABLE, SW_REASON_SHUTTING_DOWN);
}

Test(waiting, a_no_wait_pull_for_a_generation_to_come_is_not_yet) {
    publish(at("train", 1), "loss");
    struct puller *puller = pull_now(SW_METRICS, of_generation(2, at("train", 1)));
    expect_refusal(puller, SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_metadata(&puller->pull.error, "latest", NULL);
}
