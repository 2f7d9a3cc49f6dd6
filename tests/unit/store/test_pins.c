/* contract.md, Pulling: streams, and the pins that name their items. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(pins);

#define PIN store_options_default().pin_ms

static void publish_steps(uint64_t from, uint64_t to) {
    for (uint64_t step = from; step <= to; step++) expect_ok(publish_tensors(at("acts", step), "bytes", 10));
}
static uint64_t pin_of(const struct puller *puller) {
    return puller->pull.item->pin;
}
static struct puller *stream(uint64_t step) {
    struct puller *puller = pull_now(SW_TENSORS, at("acts", step));
    expect_answer(puller, "bytes");
    return puller;
}
static bool stands(uint64_t pin) {
    struct puller *puller = pull_pinned(at("acts", 1), pin);
    bool answered = puller->pull.status == SW_OK;
    end_stream(puller);
    return answered;
}

Test(pins, it_names_the_very_item_after_eviction) {
    publish_steps(1, 1);
    struct puller *first = stream(1);
    publish_steps(2, 5);
    expect_refusal(pull_now(SW_TENSORS, at("acts", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    struct puller *second = pull_pinned(at("acts", 1), pin_of(first));
    cr_assert_eq(second->pull.item, first->pull.item);
}

Test(pins, it_names_the_very_item_after_a_newer_generation) {
    publish_steps(1, 1);
    struct puller *first = stream(1);
    attach(2, STAGE, 0);
    publish_steps(1, 1);
    cr_assert_eq(pull_pinned(of_generation(1, at("acts", 1)), pin_of(first))->pull.item, first->pull.item);
    cr_assert_neq(stream(1)->pull.item, first->pull.item);
}

Test(pins, the_tensors_that_are_asked_for_are_checked_on_the_pinned_item_too) {
    publish_steps(1, 1);
    struct puller *first = stream(1);
    publish_steps(2, 2);
    struct tensor_range range = {"nope", 0, 0};
    struct pull_request request = {
        .address = at("acts", 1), .pin = pin_of(first), .ranges = &range, .range_count = 1};
    expect_refusal(pull_request(SW_TENSORS, request, CLOCK_NEVER), SW_NOT_FOUND, SW_REASON_NO_SUCH_TENSOR);
    range = (struct tensor_range){"t", 5, 0};
    expect_refusal(pull_request(SW_TENSORS, request, CLOCK_NEVER), SW_OUT_OF_RANGE, SW_REASON_BAD_RANGE);
}

Test(pins, it_stands_for_30_s_after_the_last_stream_ended) {
    publish_steps(1, 1);
    struct puller *one = stream(1), *two = stream(1);
    uint64_t pin = pin_of(one);
    publish_steps(2, 2);
    end_stream(one);
    advance(10 * PIN);
    cr_assert_eq(store_due_ms(store), CLOCK_NEVER, "a stream is open");
    end_stream(two);
    advance(PIN - 1);
    cr_assert(stands(pin));
    advance(PIN - 1);
    cr_assert(stands(pin), "each stream begins them anew");
    advance(PIN);
    cr_assert_not(stands(pin));
}

Test(pins, it_does_not_end_while_a_stream_that_was_resumed_goes_on) {
    publish_steps(1, 1);
    struct puller *broken = stream(1);
    uint64_t pin = pin_of(broken);
    publish_steps(2, 2);
    end_stream(broken);
    struct puller *resumed = pull_pinned(at("acts", 1), pin);
    advance(2 * PIN);
    cr_assert(stands(pin));
    end_stream(resumed);
    advance(PIN - 1);
    cr_assert(stands(pin));
}

Test(pins, an_ended_one_is_as_none) {
    publish_steps(1, 1);
    struct puller *first = stream(1);
    uint64_t pin = pin_of(first);
    end_stream(first);
    publish_steps(2, 2);
    advance(PIN);
    expect_refusal(pull_pinned(at("acts", 1), pin), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_answer(pull_pinned(at("acts", 2), pin), "bytes");
    expect_answer(pull_pinned(at("acts", 2), 12345), "bytes");
    attach(2, STAGE, 0);
    expect_refusal(pull_pinned(of_generation(1, at("acts", 2)), pin), SW_ABORTED, SW_REASON_SUPERSEDED);
}

Test(pins, each_item_has_its_own) {
    options.keep_tensor_steps = 100;
    fixture_reopen();
    publish_steps(1, 100);
    uint64_t pins[101];
    for (uint64_t i = 1; i <= 100; i++) {
        pins[i] = pin_of(stream(i));
        cr_assert_neq(pins[i], 0);
        for (uint64_t j = 1; j < i; j++) cr_assert_neq(pins[i], pins[j]);
    }
}

Test(pins, they_hold_neither_step_nor_room) {
    options.store_bytes = 10;
    fixture_reopen();
    publish_steps(1, 1);
    struct puller *first = stream(1);
    publish_steps(2, 2);
    cr_assert_eq(info().held_bytes, 10);
    cr_assert_eq(info().load.pinned_bytes, 10);
    expect_answer(first, "bytes");
}

Test(pins, what_has_gone_and_has_none_leaves_nothing) {
    publish_steps(1, 1);
    struct puller *first = stream(1);
    publish_steps(2, 2);
    end_stream(first);
    cr_assert_eq(info().load.pinned_bytes, 10);
    advance(PIN);
    cr_assert_eq(info().load.pinned_bytes, 0);
    cr_assert_eq(info().load.streams, 0);
}

Test(pins, a_held_item_counts_as_held_and_not_as_pinned) {
    publish_steps(1, 1);
    end_stream(stream(1));
    cr_assert_eq(info().load.pinned_bytes, 0);
    advance(PIN);
    expect_answer(pull_now(SW_TENSORS, at("acts", 1)), "bytes");
}

/* A pin without a stream; its item goes with the next step. */
static uint64_t stream_and_go(uint64_t step) {
    publish_steps(step, step); /* a duplicate is fine */
    struct puller *puller = stream(step);
    uint64_t pin = pin_of(puller);
    end_stream(puller);
    advance(1);
    return pin;
}

Test(pins, beyond_pinned_bytes_those_without_a_stream_end_oldest_first) {
    options.pinned_bytes = 20;
    fixture_reopen();
    uint64_t one = stream_and_go(1), two = stream_and_go(2), three = stream_and_go(3);
    publish_steps(4, 4); /* lets the third go */
    cr_assert_eq(info().load.pinned_bytes, 20);
    cr_assert_not(stands(one));
    cr_assert(stands(two)); /* and is younger than the third from now on */
    advance(1);
    stream_and_go(4);
    publish_steps(5, 5);
    cr_assert_not(stands(three));
    cr_assert(stands(two));
}

Test(pins, what_a_generation_lets_go_is_fitted_too) {
    options.pinned_bytes = 10;
    fixture_reopen();
    expect_ok(publish_tensors(at("a", 1), "bytes", 10));
    expect_ok(publish_tensors(at("b", 1), "bytes", 10));
    struct puller *b = pull_now(SW_TENSORS, at("b", 1)), *a = pull_now(SW_TENSORS, at("a", 1));
    uint64_t older = pin_of(b), younger = pin_of(a);
    end_stream(b);
    advance(1);
    end_stream(a);
    attach(2, STAGE, 0);
    cr_assert_eq(info().load.pinned_bytes, 10);
    cr_assert_not(stands(older));
    cr_assert(stands(younger));
}

Test(pins, streams_are_never_cut_for_pinned_bytes) {
    options.pinned_bytes = 10;
    fixture_reopen();
    publish_steps(1, 1);
    struct puller *first = stream(1);
    publish_steps(2, 2);
    struct puller *second = stream(2);
    publish_steps(3, 3);
    cr_assert_eq(info().load.pinned_bytes, 20);
    expect_answer(first, "bytes");
    expect_answer(second, "bytes");
    end_stream(first);
    cr_assert_eq(info().load.pinned_bytes, 10, "it was too much, and ended with its stream");
}

Test(pins, pinned_bytes_are_as_much_as_the_store_by_default) {
    options = store_options_default();
    options.store_bytes = 10;
    fixture_reopen();
    cr_assert_eq(store_options_of(store)->pinned_bytes, 10);
}

Test(pins, metrics_have_none) {
    publish(at("train", 1), "loss");
    struct puller *puller = pull_now(SW_METRICS, at("train", 1));
    cr_assert_eq(puller->pull.item->pin, 0);
    cr_assert_eq(info().load.streams, 0);
    end_stream(puller);
    cr_assert_eq(store_due_ms(store), CLOCK_NEVER);
}

/* ---- whose pin ends before its time ---- */

/* Both must release a step before it may go. */
static void expect_two(uint32_t lag) {
    ATTACH_WITH(1, {.channel = "acts", .kind = SW_TENSORS, .keep = 1, .lag = lag, .consumers = {"c0", "c1"}});
}
static struct puller *stream_as(const char *id, uint64_t step) {
    struct pull_request request = {.address = at("acts", step), .consumer.id = id, .wait.no_wait = true};
    struct puller *puller = pull_request(SW_TENSORS, request, CLOCK_NEVER);
    expect_answer(puller, "bytes");
    return puller;
}
static void end_pins(const char *id, uint64_t below) {
    struct consumer_request who = {.id = id, .release_below = below, .ends_pins = true};
    struct release_request request = {at("acts", 0), SW_TENSORS, &who, 1};
    expect_ok(store_release(store, &request, &refused));
}
/* What has gone and is still there for its pin or a stream, in bytes. */
static uint64_t lives_on(void) {
    return info().load.pinned_bytes;
}

Test(pins, it_ends_as_the_item_goes_where_all_that_streamed_it_have_ended_it) {
    expect_two(0);
    publish_steps(1, 1);
    struct puller *c0 = stream_as("c0", 1), *again = stream_as("c0", 1), *c1 = stream_as("c1", 1);
    uint64_t pin = pin_of(c0);
    end_stream(c0);
    end_stream(again);
    end_stream(c1);
    long with_one_item = allocations();
    publish_steps(2, 2);
    end_pins("c0", 2);
    cr_assert_eq(info().held_bytes, 20, "c1 has yet to release it");
    end_pins("c1", 2);
    cr_assert_eq(lives_on(), 0);
    cr_assert_eq(allocations(), with_one_item);
    expect_refusal(pull_pinned(at("acts", 1), pin), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(pins, it_ends_with_the_last_stream_where_all_ended_it_while_that_went_on) {
    expect_two(0);
    publish_steps(1, 1);
    struct puller *c0 = stream_as("c0", 1), *c1 = stream_as("c1", 1);
    publish_steps(2, 2);
    end_pins("c0", 2);
    end_pins("c1", 2);
    end_stream(c0);
    cr_assert_eq(lives_on(), 10);
    expect_answer(c1, "bytes");
    end_stream(c1);
    cr_assert_eq(lives_on(), 0);
}

Test(pins, a_release_alone_ends_none) {
    expect_two(0);
    publish_steps(1, 1);
    struct puller *broken = stream_as("c0", 1);
    uint64_t pin = pin_of(broken);
    end_stream(broken);
    publish_steps(2, 2);
    end_pins("c1", 2);
    expect_ok(release(SW_TENSORS, at("acts", 0), "c0", 2));
    cr_assert_eq(info().held_bytes, 10);
    cr_assert(stands(pin), "c0 gives room, and comes back for what it lacks");
}

Test(pins, who_never_streamed_it_need_not_end_it) {
    expect_two(0);
    publish_steps(1, 1);
    end_stream(stream_as("c0", 1));
    publish_steps(2, 2);
    expect_ok(release(SW_TENSORS, at("acts", 0), "c1", 2));
    end_pins("c0", 2);
    cr_assert_eq(lives_on(), 0);
}

static void expect_it_to_last(struct puller *puller) {
    uint64_t pin = pin_of(puller);
    end_stream(puller);
    publish_steps(2, 2);
    end_pins("c0", 2);
    end_pins("c1", 2);
    cr_assert_eq(lives_on(), 10);
    advance(PIN - 1);
    cr_assert(stands(pin));
}

Test(pins, one_that_an_observer_streamed_stands_for_its_time) {
    expect_two(0);
    publish_steps(1, 1);
    end_stream(stream_as("c0", 1));
    expect_it_to_last(stream(1));
}

Test(pins, one_that_an_undeclared_consumer_streamed_stands_for_its_time) {
    expect_two(0);
    publish_steps(1, 1);
    end_stream(stream_as("c0", 1));
    expect_it_to_last(stream_as("who", 1));
}

Test(pins, one_that_is_streamed_after_it_was_ended_stands_for_its_time) {
    expect_two(0);
    publish_steps(1, 1);
    end_stream(stream_as("c0", 1));
    end_pins("c0", 2);
    expect_it_to_last(stream_as("c0", 1));
}

Test(pins, one_that_is_streamed_by_its_pin_once_the_item_has_gone_stands_for_its_time) {
    expect_two(0);
    publish_steps(1, 1);
    struct puller *c0 = stream_as("c0", 1);
    publish_steps(2, 2);
    end_pins("c0", 2);
    expect_ok(release(SW_TENSORS, at("acts", 0), "c1", 2));
    struct pull_request request = {.address = at("acts", 1), .consumer.id = "c1", .pin = pin_of(c0)};
    struct puller *late = pull_request(SW_TENSORS, request, CLOCK_NEVER);
    expect_answer(late, "bytes");
    end_stream(c0);
    end_stream(late);
    cr_assert_eq(lives_on(), 10);
}

Test(pins, a_consumer_may_name_one_of_an_older_generation) {
    expect_two(0);
    publish_steps(1, 1);
    struct puller *c0 = stream_as("c0", 1);
    attach(2, STAGE, 0);
    struct pull_request request = {
        .address = of_generation(1, at("acts", 1)), .consumer.id = "c0", .pin = pin_of(c0)};
    cr_assert_eq(pull_request(SW_TENSORS, request, CLOCK_NEVER)->pull.item, c0->pull.item);
}

Test(pins, one_of_a_consumer_that_was_too_far_behind_stands_for_its_time) {
    expect_two(1);
    publish_steps(1, 1);
    struct puller *broken = stream_as("c1", 1);
    uint64_t pin = pin_of(broken);
    end_stream(broken);
    end_pins("c0", 100);
    publish_steps(2, 3);
    cr_assert_eq(store_dropped_consumers(store), 1);
    cr_assert(stands(pin), "c1 comes back for what it lacks");
}

Test(pins, one_of_an_older_generation_stands_for_its_time_unless_it_was_ended) {
    expect_two(0);
    publish_steps(1, 2);
    end_stream(stream_as("c0", 1));
    end_stream(stream_as("c0", 2));
    end_pins("c0", 2);
    attach(2, STAGE, 0);
    cr_assert_eq(lives_on(), 10);
}

Test(pins, to_end_it_lets_nothing_go_that_is_held) {
    expect_two(0);
    publish_steps(1, 1);
    uint64_t pin = pin_of(stream_as("c0", 1));
    end_pins("c0", 2);
    end_pins("c1", 2);
    cr_assert(stands(pin));
    expect_answer(pull_now(SW_TENSORS, at("acts", 1)), "bytes");
}
