/* limits.h: each limit is said by its name, and what is below it still works. */
#include <stdio.h>

#include "tests/unit/store/fixture.h"

static void begin(void) {
    fixture_open();
    options = store_options_default();
    options.max_waiters = options.max_watches = options.max_channels = options.max_consumers = 2;
    options.max_leases = options.max_publishes = 2;
    fixture_reopen();
}
TestSuite(limits, .init = begin, .fini = fixture_close);

static void expect_limit(const char *name) {
    expect_refused(refused.code, SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT);
    expect_metadata(&refused, "limit", name);
}

Test(limits, waiters_are_pulls_and_words) {
    struct puller *one = pull(SW_METRICS, at("train", 1));
    speak(0, 2, at("obj", 1), NULL);
    struct puller *more = pull(SW_METRICS, at("train", 1));
    expect_refusal(more, SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT);
    expect_metadata(&more->pull.error, "limit", "waiters");
    struct speaker *word = speak(0, 2, at("obj", 2), NULL);
    cr_assert_eq(word->word.error.reason, SW_REASON_LIMIT);
    cancel(one);
    expect_waiting(pull(SW_METRICS, at("train", 1)));
}

Test(limits, what_is_certain_needs_no_waiter) {
    pull(SW_METRICS, at("train", 2));
    pull(SW_METRICS, at("train", 2));
    publish(at("train", 1), "loss");
    expect_answer(pull(SW_METRICS, at("train", 1)), "loss");
}

Test(limits, watches) {
    struct watcher *one = watch(WATCH_NEW);
    watch(WATCH_NEW);
    cr_assert_null(watch(WATCH_NEW));
    expect_limit("watches");
    unwatch(one);
    cr_assert_not_null(watch(WATCH_NEW));
}

Test(limits, channels) {
    publish(at("a", 1), "x"), publish(at("b", 1), "x");
    publish(at("c", 1), "x");
    expect_limit("channels");
    publish_failure(at("c", 1), SW_METRICS, "boom");
    expect_limit("channels");
    close_channel(at("c", 1), SW_METRICS, SW_CLOSE_FINISHED, "");
    expect_limit("channels");
    cr_assert_null(begin_tensors(at("c", 1), 1));
    expect_limit("channels");
    cr_assert_null(ATTACH_WITH(1, {.channel = "c", .kind = SW_METRICS}));
    expect_limit("channels");
    expect_ok(publish(at("a", 2), "x"));
    cr_assert_not_null(ATTACH_WITH(1, {.channel = "a", .kind = SW_METRICS}));
}

Test(limits, channels_of_a_new_generation_count_anew) {
    publish(at("a", 1), "x"), publish(at("b", 1), "x");
    cr_assert_null(ATTACH_WITH(2, {.channel = "a", .kind = SW_METRICS}, {.channel = "b", .kind = SW_METRICS},
                               {.channel = "c", .kind = SW_METRICS}));
    expect_limit("channels");
    cr_assert_eq(store_generation(store), 1);
    cr_assert_not_null(
        ATTACH_WITH(2, {.channel = "c", .kind = SW_METRICS}, {.channel = "d", .kind = SW_METRICS}));
}

Test(limits, channels_of_exchanges) {
    speak_now(0, 2, at("a", 1), NULL), speak_now(0, 2, at("b", 1), NULL);
    struct speaker *word = speak_now(0, 2, at("c", 1), NULL);
    cr_assert_eq(word->word.error.reason, SW_REASON_LIMIT);
    expect_metadata(&word->word.error, "limit", "channels");
}

Test(limits, consumers) {
    cr_assert_null(ATTACH_WITH(1, {.channel = "a", .kind = SW_METRICS, .consumers = {"a", "b", "c"}}));
    expect_limit("consumers");
    cr_assert_eq(info().channel_count, 0);
    cr_assert_not_null(ATTACH_WITH(1, {.channel = "a", .kind = SW_METRICS, .consumers = {"a", "b"}}));
}

Test(limits, leases) {
    struct holder *one = attach(1, 0, 0);
    attach_reader(5, 1, 0); /* pending ones count */
    cr_assert_null(attach(1, 2, 0));
    expect_limit("leases");
    detach(one);
    cr_assert_not_null(attach(1, 2, 0));
}

Test(limits, stages_made_up_without_end) {
    for (uint32_t group = 0; group < 4; group++) {
        detach(attach(1, 0, group));
        advance(options.publisher_grace_ms);
    }
    cr_assert_null(attach(1, 0, 4));
    expect_limit("leases");
    close_all(of_group(9, at("", 0)), SW_CLOSE_FINISHED, "");
    expect_limit("channels");
    cr_assert_not_null(attach(1, 0, 3), "one that is known may come back");
}

Test(limits, publishes) {
    publish_tensors(at("a", 1), "x", 1);
    begin_tensors(at("a", 1), 1); /* a known one counts */
    struct upload *open = begin_tensors(at("a", 2), 1);
    cr_assert_null(begin_tensors(at("a", 1), 1));
    expect_limit("publishes");
    cr_assert_null(begin_tensors(at("b", 1), 1));
    expect_limit("publishes");
    expect_ok(end_tensors(open, "y"));
    cr_assert_not_null(begin_tensors(at("b", 1), 1));
}
