#include <stdio.h>

#include "client/core/positions.h"
#include "tests/support/test.h"

static struct positions positions;
static struct arena arena;

static void set_up(void) {
    positions_init(&positions, &allocator_system);
    arena_init(&arena, &allocator_system, 1 << 20);
}

static void tear_down(void) {
    positions_destroy(&positions);
    arena_destroy(&arena);
}

TestSuite(positions, .init = set_up, .fini = tear_down);

static sw_address at(uint64_t generation, const char *channel, uint64_t step, uint32_t call) {
    return (sw_address){.generation = generation,
                        .has_stage = true,
                        .stage = 1,
                        .channel = channel,
                        .step = step,
                        .call = call};
}

static struct positions_verdict take(struct watch_event event) {
    struct positions_verdict verdict;
    cr_assert(positions_take(&positions, &event, &verdict));
    return verdict;
}

static bool published(uint64_t generation, const char *channel, uint64_t step, uint32_t call) {
    return take((struct watch_event){.type = WATCH_PUBLISHED,
                                     .published.address = at(generation, channel, step, call)})
        .deliver;
}

static bool closed(const char *channel, sw_close_reason reason, const char *message) {
    return take((struct watch_event){
                    .type = WATCH_CLOSED,
                    .closed = {.last = at(1, channel, 0, 0), .reason = reason, .message = message}})
        .deliver;
}

static struct watch_event gap(uint64_t first, uint64_t next) {
    struct watch_event event = {.type = WATCH_GAP, .gap = {.first_missing = at(1, "a", first, 0)}};
    event.gap.has_next = next > 0;
    event.gap.next_held = at(1, "a", next, 0);
    return event;
}

static const sw_address *listed(uint32_t count) {
    const sw_address *addresses;
    uint32_t found;
    cr_assert(positions_list(&positions, &arena, &addresses, &found));
    cr_assert_eq(found, count);
    return addresses;
}

Test(positions, the_next_stream_goes_on_behind_what_came) {
    cr_assert(published(1, "b", 7, 2));
    cr_assert(published(1, "a", 3, 0));
    cr_assert(published(1, "a", 3, 1));
    const sw_address *next = listed(2);
    cr_assert_str_eq(next[0].channel, "a");
    cr_assert_eq(next[0].step, 3);
    cr_assert_eq(next[0].call, 2);
    cr_assert_eq(next[0].generation, 1);
    cr_assert(next[0].has_stage);
    cr_assert_str_eq(next[1].channel, "b");
    cr_assert_eq(next[1].call, 3);
}

Test(positions, behind_the_last_call_of_a_step_comes_the_next_step) {
    cr_assert(published(1, "a", 3, UINT32_MAX));
    cr_assert_eq(listed(1)[0].step, 4);
    cr_assert_eq(listed(1)[0].call, 0);
}

Test(positions, what_was_delivered_is_not_repeated) {
    cr_assert(published(1, "a", 3, 1));
    positions_stream_begins(&positions);
    cr_assert_not(published(1, "a", 3, 1));
    cr_assert_not(published(1, "a", 2, 9));
    cr_assert(published(1, "a", 3, 2));
}

Test(positions, a_failure_is_an_item) {
    cr_assert(take((struct watch_event){.type = WATCH_FAILED, .failed.address = at(1, "a", 5, 0)}).deliver);
    cr_assert_eq(listed(1)[0].call, 1);
    cr_assert_not(published(1, "a", 5, 0));
}

Test(positions, a_generation_begins_once_and_ends_what_was_before) {
    struct watch_event begins = {.type = WATCH_GENERATION, .generation = 2};
    cr_assert(published(1, "a", 9, 0));
    cr_assert(take(begins).deliver);
    cr_assert_not(take(begins).deliver);
    listed(0);
    cr_assert_not(published(1, "a", 10, 0));
    cr_assert(published(2, "a", 4, 0));
}

Test(positions, a_generation_that_nobody_told_of_is_told_first) {
    cr_assert(published(1, "a", 9, 0));
    struct positions_verdict verdict =
        take((struct watch_event){.type = WATCH_PUBLISHED, .published.address = at(3, "a", 0, 0)});
    cr_assert(verdict.deliver);
    cr_assert(verdict.new_generation);
    cr_assert_eq(positions.generation, 3);
    verdict = take((struct watch_event){.type = WATCH_PUBLISHED, .published.address = at(3, "a", 1, 0)});
    cr_assert_not(verdict.new_generation);
}

Test(positions, the_first_event_of_all_is_of_no_new_generation) {
    struct positions_verdict verdict =
        take((struct watch_event){.type = WATCH_PUBLISHED, .published.address = at(3, "a", 0, 0)});
    cr_assert_not(verdict.new_generation);
}

Test(positions, a_closing_is_told_once_however_often_the_stream_breaks) {
    cr_assert(closed("a", SW_CLOSE_FINISHED, "done"));
    for (int i = 0; i < 3; i++) {
        positions_stream_begins(&positions);
        cr_assert_not(closed("a", SW_CLOSE_FINISHED, "done"));
    }
    positions_stream_begins(&positions);
    cr_assert(closed("a", SW_CLOSE_ABORTED, "done"), "which is another one");
}

Test(positions, a_second_loss_within_a_stream_is_news) {
    cr_assert(closed("a", SW_CLOSE_PUBLISHER_LOST, ""));
    cr_assert(closed("a", SW_CLOSE_PUBLISHER_LOST, ""));
    positions_stream_begins(&positions);
    cr_assert_not(closed("a", SW_CLOSE_PUBLISHER_LOST, ""));
    cr_assert(closed("a", SW_CLOSE_PUBLISHER_LOST, ""));
}

Test(positions, a_closing_that_was_known_before_the_watch_is_no_event) {
    struct channel_closed before = {.last = at(1, "a", 7, 0), .reason = SW_CLOSE_FINISHED, .items = 3};
    cr_assert(positions_closed(&positions, &before));
    cr_assert_eq(listed(1)[0].step, 7);
    cr_assert_eq(listed(1)[0].call, 1, "behind its last item");
    cr_assert_not(closed("a", SW_CLOSE_FINISHED, NULL));
}

Test(positions, a_gap_moves_on_to_what_is_held) {
    cr_assert(published(1, "a", 3, 0));
    cr_assert(take(gap(4, 8)).deliver);
    cr_assert_eq(listed(1)[0].step, 8);
    cr_assert_not(take(gap(4, 8)).deliver);
    cr_assert(published(1, "a", 8, 0));
}

Test(positions, a_gap_with_nothing_behind_it_is_told_once) {
    cr_assert(published(1, "a", 3, 0));
    cr_assert(take(gap(4, 0)).deliver);
    positions_stream_begins(&positions);
    cr_assert_not(take(gap(4, 0)).deliver);
    cr_assert(take(gap(4, 9)).deliver, "now something is held again");
}

Test(positions, heartbeats_are_nothing) {
    cr_assert_not(take((struct watch_event){.type = WATCH_HEARTBEAT}).deliver);
    listed(0);
}

Test(positions, many_channels_keep_their_own) {
    char name[16];
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "c%u", i * 7919 % 500);
        cr_assert(published(1, name, i, 0));
    }
    listed(500);
    for (unsigned i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "c%u", i * 7919 % 500);
        cr_assert_not(published(1, name, i, 0));
        cr_assert(published(1, name, i, 1));
    }
}
