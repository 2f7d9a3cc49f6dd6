/* contract.md, Publishing: room. Steps that no expected consumer needs go, oldest publication first, and no
 * more than suffices. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/store/fixture.h"

static void small_store(void) {
    options = store_options_default();
    options.store_bytes = 40;
    options.metrics_bytes = 40;
    options.keep_tensor_steps = 1000;
    fixture_reopen();
}
static void begin(void) {
    fixture_open();
    small_store();
}
TestSuite(room, .init = begin, .fini = fixture_close);

static bool is_held(sw_address address) {
    return pull_now(SW_METRICS, address)->pull.status == SW_OK;
}
static sw_status put(const char *channel, uint64_t step, size_t size) {
    return publish_sized(at(channel, step), "x", size);
}

Test(room, keep_steps_yields_and_no_more_goes_than_suffices) {
    for (uint64_t step = 1; step <= 4; step++) expect_ok(put("train", step, 10));
    expect_ok(put("train", 5, 15));
    cr_assert_not(is_held(at("train", 1)));
    cr_assert_not(is_held(at("train", 2)));
    cr_assert(is_held(at("train", 3)));
}

Test(room, the_oldest_publication_goes_first_across_channels) {
    expect_ok(put("a", 100, 10));
    expect_ok(put("b", 1, 10));
    expect_ok(put("a", 101, 10));
    expect_ok(put("b", 2, 10));
    expect_ok(put("c", 1, 10));
    cr_assert_not(is_held(at("a", 100)));
    expect_ok(put("c", 2, 10));
    cr_assert_not(is_held(at("b", 1)));
    expect_ok(put("c", 3, 10));
    cr_assert_not(is_held(at("a", 101)));
    cr_assert(is_held(at("b", 2)));
}

Test(room, a_step_is_as_old_as_its_first_call) {
    expect_ok(publish_sized(at_call("a", 1, 0), "x", 10));
    expect_ok(put("b", 1, 10));
    expect_ok(publish_sized(at_call("a", 1, 1), "y", 10));
    expect_ok(put("c", 1, 20));
    cr_assert_not(is_held(at_call("a", 1, 1)));
    cr_assert(is_held(at("b", 1)));
}

Test(room, tensors_never_push_metrics_out) {
    expect_ok(put("train", 1, 40));
    expect_ok(publish_tensors(at("train", 1), "x", 40));
    expect_ok(publish_tensors(at("train", 2), "x", 40));
    cr_assert(is_held(at("train", 1)));
    expect_refusal(pull_now(SW_TENSORS, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(room, what_an_expected_consumer_needs_stays_and_it_is_named) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"zoe", "abe"}},
                {.channel = "eval", .kind = SW_METRICS, .consumers = {"abe", "kim"}});
    expect_ok(put("train", 1, 20));
    expect_ok(put("eval", 1, 20));
    expect_refused(put("train", 2, 1), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    expect_metadata(&refused, "consumers", "[\"abe\",\"kim\",\"zoe\"]");
    release(SW_METRICS, at("eval", 0), "kim", 2);
    release(SW_METRICS, at("train", 0), "zoe", 2);
    expect_refused(put("train", 2, 1), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    expect_metadata(&refused, "consumers", "[\"abe\"]");
    release(SW_METRICS, at("train", 0), "abe", 2);
    expect_ok(put("train", 2, 1));
    cr_assert(is_held(at("eval", 1)));
}

Test(room, one_that_was_dropped_holds_nothing_up) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .lag = 1, .consumers = {"slow", "quick"}});
    expect_ok(put("train", 1, 10));
    expect_ok(put("train", 2, 10));
    expect_ok(release(SW_METRICS, at("train", 0), "quick", 2));
    expect_ok(put("train", 3, 20));
    cr_assert_eq(store_dropped_consumers(store), 1);
    expect_refused(put("eval", 1, 40), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    expect_metadata(&refused, "consumers", "[\"quick\"]");
}

Test(room, needed_steps_are_passed_over) {
    ATTACH_WITH(1, {.channel = "needed", .kind = SW_METRICS, .consumers = {"a"}});
    expect_ok(put("needed", 1, 10));
    expect_ok(put("free", 1, 10));
    expect_ok(put("needed", 2, 10));
    expect_ok(put("free", 2, 10));
    expect_ok(put("free", 3, 20));
    cr_assert(is_held(at("needed", 1)));
    cr_assert_not(is_held(at("free", 2)));
}

Test(room, where_it_cannot_suffice_nothing_has_gone) {
    ATTACH_WITH(1, {.channel = "needed", .kind = SW_METRICS, .consumers = {"a"}});
    expect_ok(put("free", 1, 10));
    expect_ok(put("needed", 1, 20));
    expect_ok(put("free", 2, 10));
    expect_refused(put("free", 3, 21), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    cr_assert(is_held(at("free", 1)));
    cr_assert(is_held(at("free", 2)));
    expect_ok(put("free", 3, 20));
}

Test(room, a_needed_step_is_released_out_of_order_of_publication) {
    ATTACH_WITH(1, {.channel = "first", .kind = SW_METRICS, .consumers = {"a"}},
                {.channel = "second", .kind = SW_METRICS, .consumers = {"a"}});
    expect_ok(put("first", 1, 20));
    expect_ok(put("second", 1, 20));
    release(SW_METRICS, at("second", 0), "a", 2);
    release(SW_METRICS, at("first", 0), "a", 2);
    expect_ok(put("third", 1, 20));
    cr_assert_not(is_held(at("first", 1)));
    cr_assert(is_held(at("second", 1)));
}

Test(room, an_open_publish_is_no_consumer_and_cannot_go) {
    begin_tensors(at("a", 1), 30);
    cr_assert_null(begin_tensors(at("b", 1), 11));
    expect_refused(refused.code, SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    expect_metadata(&refused, "consumers", NULL);
}

Test(room, a_whole_step_may_go_for_its_own_next_call) {
    expect_ok(publish_sized(at_call("a", 1, 0), "x", 30));
    expect_ok(publish_sized(at_call("a", 1, 1), "y", 30));
    cr_assert_not(is_held(at_call("a", 1, 0)));
    cr_assert(is_held(at_call("a", 1, 1)));
    expect_ok(publish_sized(at_call("a", 1, 1), "y", 30));
    cr_assert(was_duplicate());
}

Test(room, failures_take_none) {
    expect_ok(put("train", 1, 40));
    for (uint64_t step = 2; step < 100; step++)
        expect_ok(publish_failure(at("train", step), SW_METRICS, "boom"));
    cr_assert(is_held(at("train", 1)));
}

/* Against the rule, applied to every step there is. */
Test(room, the_rule_holds_over_thousands_of_publishes) {
    enum { CHANNELS = 7, STEPS = 4000 };
    static struct {
        int channel;
        uint64_t step;
        size_t size;
        bool held;
    } all[STEPS];
    uint64_t next[CHANNELS] = {0};
    size_t used = 0, oldest = 0;
    srand(3);
    for (size_t i = 0; i < STEPS; i++) {
        char name[8];
        int channel = rand() % CHANNELS;
        size_t size = (size_t)rand() % 12 + 1;
        snprintf(name, sizeof name, "c%d", channel);
        expect_ok(put(name, next[channel], size));
        for (; used + size > 40; oldest++) {
            used -= all[oldest].size;
            all[oldest].held = false;
        }
        used += size;
        all[i].channel = channel, all[i].step = next[channel]++, all[i].size = size, all[i].held = true;
        cr_assert_eq(info().load.metrics_held_bytes, used);
        size_t probe = (size_t)rand() % (i + 1);
        snprintf(name, sizeof name, "c%d", all[probe].channel);
        cr_assert_eq(is_held(at(name, all[probe].step)), all[probe].held);
    }
}
