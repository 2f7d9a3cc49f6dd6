/* contract.md, Pulling: watching metrics. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/store/fixture.h"

STORE_SUITE(watch);

static void expect_events(struct watcher *watcher, const char *expected) {
    const char *told = events(watcher);
    cr_assert_str_eq(told, expected, "told: %s", told);
}
static struct watcher *watch_from(sw_address position) {
    static sw_address positions[8];
    static int used;
    positions[used] = of_stage(STAGE, position);
    return watch_request((struct watch_request){
        .start = WATCH_POSITIONS, .positions = &positions[used++], .position_count = 1});
}
static void publish_steps(uint64_t from, uint64_t to) {
    for (uint64_t step = from; step <= to; step++) expect_ok(publish(at("train", step), "x"));
}
static void keep(uint32_t steps) {
    options.keep_steps = steps;
    fixture_reopen();
}

Test(watch, new_sends_what_comes_after_it) {
    publish_steps(1, 2);
    struct watcher *watcher = watch(WATCH_NEW);
    expect_events(watcher, "");
    publish(at("train", 3), "a");
    publish(at("eval", 1), "b");
    expect_events(watcher, "item train 3/0 a\nitem eval 1/0 b\n");
}

Test(watch, an_unset_start_is_new) {
    publish_steps(1, 2);
    expect_events(watch(0), "");
}

Test(watch, oldest_held_sends_what_is_held_then_live) {
    keep(2);
    publish_steps(1, 3);
    struct watcher *watcher = watch(WATCH_OLDEST_HELD);
    expect_events(watcher, "item train 2/0 x\nitem train 3/0 x\n");
    publish_steps(4, 4);
    expect_events(watcher, "item train 4/0 x\n");
}

Test(watch, failures_are_events) {
    struct watcher *watcher = watch(WATCH_NEW);
    publish_failure(at("train", 1), SW_METRICS, "out of memory");
    expect_events(watcher, "failed train 1/0 out of memory\n");
    expect_events(watch(WATCH_OLDEST_HELD), "failed train 1/0 out of memory\n");
}

Test(watch, only_metrics_are_watched) {
    struct watcher *watcher = watch(WATCH_OLDEST_HELD);
    publish_tensors(at("acts", 1), "bytes", 10);
    close_channel(at("acts", 1), SW_TENSORS, SW_CLOSE_FINISHED, "");
    publish_failure(at("obj", 1), SW_OBJECT, "boom");
    expect_events(watcher, "");
}

Test(watch, it_is_called_when_something_has_come) {
    struct watcher *watcher = watch(WATCH_NEW);
    cr_assert_eq(watcher->ready, 0);
    expect_events(watcher, "");
    publish_steps(1, 3);
    cr_assert_eq(watcher->ready, 1);
    events(watcher);
    publish_steps(4, 4);
    cr_assert_eq(watcher->ready, 2);
}

Test(watch, a_duplicate_is_not_told_again) {
    publish_steps(1, 1);
    struct watcher *watcher = watch(WATCH_NEW);
    publish_steps(1, 1);
    expect_events(watcher, "");
}

/* ---- filters ---- */

static struct watcher *watch_filtered(struct channel_filter filter) {
    static struct channel_filter filters[8];
    static int used;
    filters[used] = filter;
    return watch_request(
        (struct watch_request){.start = WATCH_NEW, .filters = &filters[used++], .filter_count = 1});
}

Test(watch, names_filter_and_a_star_matches_the_rest) {
    static const char *const exact[] = {"train"}, *const star[] = {"train/*", "eval"}, *const every[] = {"*"};
    struct watcher *a = watch_filtered((struct channel_filter){.channels = exact, .channel_count = 1});
    struct watcher *b = watch_filtered((struct channel_filter){.channels = star, .channel_count = 2});
    struct watcher *c = watch_filtered((struct channel_filter){.channels = every, .channel_count = 1});
    publish(at("train", 1), "1"), publish(at("train/aux", 1), "2"), publish(at("eval", 1), "3");
    publish(at("evaluation", 1), "4");
    expect_events(a, "item train 1/0 1\n");
    expect_events(b, "item train/aux 1/0 2\nitem eval 1/0 3\n");
    expect_events(c, "item train 1/0 1\nitem train/aux 1/0 2\nitem eval 1/0 3\nitem evaluation 1/0 4\n");
}

Test(watch, stages_and_groups_filter) {
    static const uint32_t stages[] = {1, 2}, groups[] = {5};
    struct watcher *watcher = watch_filtered(
        (struct channel_filter){.stages = stages, .stage_count = 2, .groups = groups, .group_count = 1});
    publish(of_group(5, of_stage(1, at("train", 1))), "1");
    publish(of_group(5, of_stage(3, at("train", 1))), "2");
    publish(of_group(4, of_stage(1, at("train", 1))), "3");
    expect_events(watcher, "item stage 1 group 5 train 1/0 1\n");
}

Test(watch, any_of_several_filters_will_do) {
    static const char *const name[] = {"eval"};
    static const uint32_t stages[] = {1};
    struct channel_filter filters[] = {{.channels = name, .channel_count = 1},
                                       {.stages = stages, .stage_count = 1}};
    struct watcher *watcher =
        watch_request((struct watch_request){.start = WATCH_NEW, .filters = filters, .filter_count = 2});
    publish(at("eval", 1), "1"), publish(of_stage(1, at("train", 1)), "2"), publish(at("train", 1), "3");
    expect_events(watcher, "item eval 1/0 1\nitem stage 1 train 1/0 2\n");
}

/* ---- positions ---- */

Test(watch, a_position_is_the_next_item_wanted) {
    publish_steps(1, 4);
    expect_events(watch_from(of_generation(1, at("train", 3))), "item train 3/0 x\nitem train 4/0 x\n");
    expect_events(watch_from(of_generation(1, at_call("train", 3, 1))), "item train 4/0 x\n");
}

Test(watch, a_channel_without_a_position_starts_at_its_oldest_held) {
    publish_steps(1, 2);
    publish(at("eval", 1), "y"), publish(at("eval", 2), "z");
    expect_events(watch_from(of_generation(1, at("eval", 2))),
                  "item train 1/0 x\nitem eval 2/0 z\nitem train 2/0 x\n");
}

Test(watch, a_position_ahead_waits_for_it) {
    publish_steps(1, 2);
    struct watcher *watcher = watch_from(of_generation(1, at("train", 5)));
    publish_steps(3, 6);
    expect_events(watcher, "item train 5/0 x\nitem train 6/0 x\n");
}

Test(watch, a_position_in_a_channel_that_is_not_there_yet_counts_when_it_is) {
    struct watcher *watcher = watch_from(of_generation(1, at("train", 2)));
    publish_steps(1, 3);
    expect_events(watcher, "item train 2/0 x\nitem train 3/0 x\n");
}

Test(watch, a_gap_is_told_where_something_from_the_position_on_has_gone) {
    keep(2);
    publish_steps(1, 5);
    expect_events(watch_from(of_generation(1, at("train", 2))),
                  "gap train 2/0 4/0\nitem train 4/0 x\nitem train 5/0 x\n");
}

Test(watch, no_gap_where_nothing_was) {
    keep(2);
    publish(at("train", 1), "x"), publish(at("train", 8), "x"), publish(at("train", 9), "x");
    expect_events(watch_from(of_generation(1, at("train", 2))), "item train 8/0 x\nitem train 9/0 x\n");
    expect_events(watch_from(of_generation(1, at("train", 1))),
                  "gap train 1/0 8/0\nitem train 8/0 x\nitem train 9/0 x\n");
}

Test(watch, a_gap_is_told_where_something_may_have_been) {
    keep(1);
    for (uint64_t step = 0; step < 70; step++) publish(at("train", 10 + step), "x");
    expect_events(watch_from(of_generation(1, at("train", 1))), "gap train 1/0 79/0\nitem train 79/0 x\n");
    attach(2, STAGE, 0);
    ATTACH_WITH(2, {.channel = "train", .kind = SW_METRICS, .next_step = 5});
    publish_steps(5, 5);
    expect_events(watch_from(of_generation(2, at("train", 3))), "gap train 3/0 5/0\nitem train 5/0 x\n");
}

Test(watch, where_it_is_known_that_nothing_was_there_is_no_gap) {
    publish(at("train", 3), "x");
    publish(at("train", 5), "x");
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .next_step = 6});
    expect_events(watch_from(of_generation(1, at("train", 4))), "item train 5/0 x\n");
}

Test(watch, a_gap_to_the_end_names_no_next) {
    options.metrics_bytes = 4;
    fixture_reopen();
    publish_sized(at("train", 1), "x", 4);
    publish_sized(at("eval", 1), "y", 4);
    static const char *const name[] = {"train"};
    struct channel_filter filter = {.channels = name, .channel_count = 1};
    sw_address position = of_stage(STAGE, of_generation(1, at("train", 0)));
    struct watch_request request = {.start = WATCH_POSITIONS,
                                    .filters = &filter,
                                    .filter_count = 1,
                                    .positions = &position,
                                    .position_count = 1};
    struct watcher *watcher = watch_request(request);
    expect_events(watcher, "gap train 0/0\n");
    publish_sized(at("train", 2), "z", 1);
    expect_events(watcher, "item train 2/0 z\n");
}

Test(watch, a_position_of_an_older_generation_tells_the_generation_then_all_that_is_held) {
    publish_steps(1, 3);
    attach(2, STAGE, 0);
    publish_steps(1, 2);
    expect_events(watch_from(of_generation(1, at("train", 3))),
                  "generation 2\nitem train 1/0 x\nitem train 2/0 x\n");
}

Test(watch, a_position_counts_in_its_own_generation_only) {
    publish_steps(1, 3);
    struct watcher *watcher = watch_from(of_generation(1, at("train", 3)));
    expect_events(watcher, "item train 3/0 x\n");
    attach(2, STAGE, 0);
    publish_steps(1, 1);
    expect_events(watcher, "generation 2\nitem train 1/0 x\n");
}

Test(watch, a_position_of_a_generation_to_come_waits_for_it) {
    publish_steps(1, 1);
    struct watcher *watcher = watch_from(of_generation(2, at("train", 2)));
    publish_steps(2, 3);
    expect_events(watcher, "");
    attach(2, STAGE, 0);
    publish_steps(1, 3);
    expect_events(watcher, "generation 2\nitem train 2/0 x\nitem train 3/0 x\n");
}

/* ---- one that lags ---- */

Test(watch, one_that_lags_is_told_of_a_gap) {
    keep(3);
    struct watcher *watcher = watch(WATCH_NEW);
    publish_steps(1, 10);
    expect_events(watcher, "gap train 0/0 8/0\nitem train 8/0 x\nitem train 9/0 x\nitem train 10/0 x\n");
    publish_steps(11, 15);
    expect_events(watcher, "gap train 10/1 13/0\nitem train 13/0 x\nitem train 14/0 x\nitem train 15/0 x\n");
}

Test(watch, one_that_keeps_up_is_told_of_none) {
    keep(1);
    struct watcher *watcher = watch(WATCH_NEW);
    for (uint64_t step = 1; step < 100; step += 7) {
        char expected[64];
        publish_steps(step, step);
        snprintf(expected, sizeof expected, "item train %d/0 x\n", (int)step);
        expect_events(watcher, expected);
    }
}

Test(watch, it_holds_no_items) {
    keep(1);
    struct watcher *watcher = watch(WATCH_NEW);
    publish_steps(1, 2);
    long before = allocations();
    publish_steps(3, 1000);
    cr_assert_leq(allocations(), before + 2);
    cr_assert_eq(strncmp(events(watcher), "gap", 3), 0);
}

/* ---- closings, losses, generations ---- */

Test(watch, closings_are_told_after_what_was_published_before) {
    struct watcher *live = watch(WATCH_NEW);
    publish_steps(1, 2);
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN");
    const char *expected = "item train 1/0 x\nitem train 2/0 x\nclosed train ABORTED 2/0 NaN\n";
    expect_events(live, expected);
    expect_events(watch(WATCH_OLDEST_HELD), expected);
    expect_events(watch(WATCH_NEW), "");
}

Test(watch, a_closing_of_an_empty_channel_names_the_channel_and_no_step) {
    struct watcher *live = watch(WATCH_NEW);
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    expect_events(live, "closed train FINISHED\n");
}

Test(watch, a_closing_of_all_is_told_of_known_open_channels) {
    publish(at("a", 1), "x"), publish(at("b", 1), "x");
    close_channel(at("a", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    struct watcher *live = watch(WATCH_NEW);
    close_all(at("", 0), SW_CLOSE_ABORTED, "NaN");
    expect_events(live, "closed b ABORTED 1/0 NaN\n");
}

Test(watch, a_loss_is_told_of_known_open_channels) {
    struct holder *holder = attach(1, STAGE, 0);
    publish(at("a", 1), "x"), publish(at("b", 1), "x");
    close_channel(at("a", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    struct watcher *live = watch(WATCH_NEW);
    detach(holder);
    advance(options.publisher_grace_ms);
    expect_events(live, "closed b PUBLISHER_LOST 1/0\n");
    expect_events(watch(WATCH_OLDEST_HELD),
                  "item a 1/0 x\nitem b 1/0 x\nclosed a FINISHED 1/0\nclosed b PUBLISHER_LOST 1/0\n");
}

Test(watch, a_loss_that_is_told_late_comes_before_what_was_published_after_it) {
    struct holder *holder = attach(1, STAGE, 0);
    struct watcher *late = watch(WATCH_NEW);
    publish_steps(1, 1);
    detach(holder);
    advance(options.publisher_grace_ms);
    attach(1, STAGE, 0);
    publish_steps(2, 2);
    close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "");
    expect_events(late, "item train 1/0 x\nclosed train PUBLISHER_LOST 2/0\nitem train 2/0 x\n"
                        "closed train FINISHED 2/0\n");
}

Test(watch, a_loss_that_was_mended_is_not_told_to_who_comes_later) {
    detach(attach(1, STAGE, 0));
    publish_steps(1, 1);
    advance(options.publisher_grace_ms);
    expect_events(watch(WATCH_OLDEST_HELD), "item train 1/0 x\nclosed train PUBLISHER_LOST 1/0\n");
    attach(1, STAGE, 0);
    expect_events(watch(WATCH_OLDEST_HELD), "item train 1/0 x\n");
}

Test(watch, what_is_held_comes_before_a_loss_that_stands) {
    detach(attach(1, STAGE, 0));
    publish_steps(1, 1);
    advance(options.publisher_grace_ms);
    publish_steps(2, 2);
    struct watcher *watcher = watch(WATCH_OLDEST_HELD);
    publish_steps(3, 3);
    expect_events(watcher,
                  "item train 1/0 x\nitem train 2/0 x\nclosed train PUBLISHER_LOST 3/0\nitem train 3/0 x\n");
}

Test(watch, it_goes_on_across_generations) {
    struct watcher *watcher = watch(WATCH_NEW);
    publish_steps(1, 1);
    expect_events(watcher, "item train 1/0 x\n");
    attach(2, STAGE, 0);
    publish_steps(1, 1);
    expect_events(watcher, "generation 2\nitem train 1/0 x\n");
}

Test(watch, the_very_first_generation_is_not_told) {
    struct watcher *watcher = watch(WATCH_NEW);
    attach(3, STAGE, 0);
    expect_events(watcher, "");
}

Test(watch, another_run_is_refused) {
    cr_assert_null(watch_request((struct watch_request){.run_id = "run-b", .start = WATCH_NEW}));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
}

Test(watch, one_that_stops_leaves_nothing) {
    publish_steps(1, 1);
    long before = allocations();
    struct watcher *watcher = watch(WATCH_OLDEST_HELD);
    cr_assert_eq(info().load.watches, 1);
    unwatch(watcher);
    cr_assert_eq(info().load.watches, 0);
    cr_assert_eq(allocations(), before);
    publish_steps(2, 2);
    cr_assert_eq(watcher->ready, 0);
}
