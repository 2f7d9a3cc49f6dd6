/* What a watch may tell: everything once, in order, and a gap where something is missing. */
#include <inttypes.h>

#include "tests/fault/judge.h"

static sw_address address_at(uint64_t generation, uint64_t place) {
    return (sw_address){
        .generation = generation, .step = place / CALLS_MAX, .call = (uint32_t)(place % CALLS_MAX)};
}

static bool must_be_held(struct judge *judge, const sw_address *at) {
    const struct known *known = facts_known(&judge->facts, SW_METRICS, at);
    return facts_is_there(&judge->facts, known) &&
           facts_channel(&judge->facts, SW_METRICS, at->generation)->latest < at->step + KEEP_STEPS;
}

/* It begins with all that is held, so that only what must be held is missed. */
static void nothing_before(struct judge *judge, const struct event *event, uint64_t to) {
    for (uint64_t place = 0; place < to; place++) {
        sw_address at = address_at(event->generation, place);
        if (must_be_held(judge, &at))
            judge_fail(judge,
                       "%s began with %" PRIu64 ":%" PRIu64 "/%" PRIu32 " and missed what is held before",
                       actor_name(event->actor), at_words(event));
    }
}

/* Nothing between the two is there for certain, unless an endpoint ended since. */
static void nothing_between(struct judge *judge, const struct event *event, uint64_t from, uint64_t to) {
    for (uint64_t place = from; place < to; place++) {
        sw_address at = address_at(event->generation, place);
        const struct known *known = facts_known(&judge->facts, SW_METRICS, &at);
        if (known->acked && !facts_may_be_lost(&judge->facts, known))
            judge_fail(judge, "%s missed %" PRIu64 ":%" PRIu64 "/%" PRIu32 " without a gap",
                       actor_name(event->actor), at.generation, at.step, at.call);
    }
}

static void move_to(struct judge *judge, const struct event *event, uint64_t place) {
    judge->watches[event->actor] = (struct watch_facts){
        .has_last = true, .generation = event->generation, .place = place, .epoch = judge->facts.epoch};
}

static void seen(struct judge *judge, const struct event *event) {
    const struct watch_facts *watch = &judge->watches[event->actor];
    sw_address at = address_of(event);
    uint64_t place = place_of(at.step, at.call);
    judge->counts.seen++;
    if (watch->has_last &&
        (at.generation < watch->generation || (at.generation == watch->generation && place <= watch->place)))
        judge_fail(judge, "%s was told %" PRIu64 ":%" PRIu64 "/%" PRIu32 " twice, or out of order",
                   actor_name(event->actor), at_words(event));
    if (!facts_known(&judge->facts, SW_METRICS, &at)->begun ||
        truth_fails(judge->facts.seed, SW_METRICS, &at) != (event->what == SAW_SEEN_FAILED) || !event->right)
        judge_fail(judge, "%s was told what is not at %" PRIu64 ":%" PRIu64 "/%" PRIu32,
                   actor_name(event->actor), at_words(event));
    if (watch->has_last && at.generation == watch->generation)
        nothing_between(judge, event, watch->place + 1, place);
    else
        nothing_before(judge, event, place);
    move_to(judge, event, place);
}

/* What is said to be gone must have had leave to go. */
static void gap(struct judge *judge, const struct event *event) {
    uint64_t from = place_of(event->step, event->call), to = place_of(event->next_step, event->next_call);
    judge->counts.gaps++;
    for (uint64_t place = from; place < to; place++) {
        sw_address at = address_at(event->generation, place);
        if (must_be_held(judge, &at))
            judge_fail(judge, "%s was told that %" PRIu64 ":%" PRIu64 "/%" PRIu32 " is gone",
                       actor_name(event->actor), at.generation, at.step, at.call);
    }
    if (to > from) move_to(judge, event, to - 1);
}

void judge_watch(struct judge *judge, const struct event *event) {
    const struct watch_facts *watch = &judge->watches[event->actor];
    switch (event->what) {
    case SAW_SEEN:
    case SAW_SEEN_FAILED:
        seen(judge, event);
        break;
    case SAW_SEEN_GAP:
        gap(judge, event);
        break;
    case SAW_SEEN_GENERATION:
        if (watch->has_last && event->generation <= watch->generation)
            judge_fail(judge, "%s was told of generation %" PRIu64 " twice", actor_name(event->actor),
                       event->generation);
        break;
    default:
        judge_fail(judge, "%s was told that the channel is closed", actor_name(event->actor));
        break;
    }
}
