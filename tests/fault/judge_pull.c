/* What a pull, and a word in an exchange, may be answered. */
#include <inttypes.h>

#include "tests/fault/judge.h"

static struct consumer_facts *consumer_of(struct judge *judge, const struct event *end) {
    return &facts_channel(&judge->facts, end->kind, end->generation)->consumers[end->actor - PULLER_0];
}

static void wrong(struct judge *judge, const struct event *end, const char *why) {
    judge_fail(judge, "%s %" PRIu64 ":%" PRIu64 "/%" PRIu32 " (%s) and got %s %s: %s; %s",
               actor_name(end->actor), at_words(end), end->kind == SW_METRICS ? "metrics" : "tensors",
               sw_status_name(end->status), sw_reason_name(end->reason), end->note, why);
}

/* Since when it is certain what a pull of it is answered: it, or something after it, is there. INT64_MAX: it
 * is not. */
static int64_t certain_since(struct judge *judge, const struct event *end) {
    uint64_t latest = facts_channel(&judge->facts, end->kind, end->generation)->latest;
    for (uint64_t place = place_of(end->step, end->call); place < place_of(latest + 1, 0); place++) {
        sw_address at = {
            .generation = end->generation, .step = place / CALLS_MAX, .call = (uint32_t)(place % CALLS_MAX)};
        const struct known *known = facts_known(&judge->facts, end->kind, &at);
        if (facts_is_there(&judge->facts, known)) return known->acked_ms;
    }
    return INT64_MAX;
}

/* It was certain long before, but the answer came when the wait was over: nobody woke the pull. A slow
 * machine may do that once, a store that forgets does it again and again. */
static void look_at_the_wait(struct judge *judge, const struct call_facts *call, const struct event *end) {
    enum { LATE_ANSWERS = 3, SHORTLY_MS = 400 };
    int64_t over_ms = call->begin.at_ms + call->begin.timeout_ms - SHORTLY_MS;
    if (!call->in_quiet || end->at_ms < over_ms || certain_since(judge, end) > over_ms - 1000) return;
    if (++judge->late_answers == LATE_ANSWERS)
        wrong(judge, end, "pulls are answered only when the wait is over");
}

static void got(struct judge *judge, const struct event *end) {
    sw_address at = address_of(end);
    bool is_failure = end->status != SW_OK;
    judge->counts.pulled += !is_failure;
    judge->counts.failed += is_failure;
    if (!facts_known(&judge->facts, end->kind, &at)->begun) wrong(judge, end, "it was never published");
    if (truth_fails(judge->facts.seed, end->kind, &at) != is_failure)
        wrong(judge, end, is_failure ? "it did not fail" : "it failed");
    if (!end->right) wrong(judge, end, "that is not what was published there");
}

static void got_latest(struct judge *judge, const struct call_facts *call, const struct event *end) {
    got(judge, end);
    bool lived_on = call->epoch == judge->facts.epoch;
    if (lived_on && place_of(end->step, end->call) < call->acked)
        wrong(judge, end, "a newer one was there when it was asked for");
}

/* Whether it may have gone although the endpoint lived on. */
static bool may_have_gone(struct judge *judge, const struct event *end) {
    struct channel_facts *channel = facts_channel(&judge->facts, end->kind, end->generation);
    uint64_t keep = end->kind == SW_METRICS ? KEEP_STEPS : 1;
    if (channel->latest < end->step + keep) return false;
    if (facts_generation(&judge->facts, end->generation)->is_unprotected) return true;
    for (unsigned i = 0; i < CONSUMERS; i++) {
        /* A pull that is under way may have released more than is known. */
        const struct consumer_facts *consumer = &channel->consumers[i];
        bool has_released = consumer->arrived >= end->step || consumer->released > end->step ||
                            consumer->may_be_released > end->step;
        if (!has_released && !consumer->may_be_dropped) return false;
    }
    return true;
}

/* Not what it has itself asked to release: a stage that was killed after that begins with the same step. */
static bool needs(struct judge *judge, const struct event *end) {
    const struct consumer_facts *consumer = consumer_of(judge, end);
    return !consumer->may_be_dropped && consumer->may_be_released <= end->step &&
           !facts_generation(&judge->facts, end->generation)->is_unprotected;
}

static void evicted(struct judge *judge, const struct event *end) {
    sw_address at = address_of(end);
    const struct known *known = facts_known(&judge->facts, end->kind, &at);
    struct channel_facts *channel = facts_channel(&judge->facts, end->kind, end->generation);
    judge->counts.evicted++;
    if (facts_may_be_lost(&judge->facts, known)) return;
    if (!known->begun) {
        /* Skipped, and below all that is exactly known. A lease that is taken up again may tell any endpoint
         * how far the trainer has come (next_step), also one that has long lived, and none here sees that it
         * did: below the first item that the endpoint ever had, EVICTED is right from then on. */
        bool vague =
            end->step <= channel->base || channel->latest > end->step + 20 || end->step < channel->first;
        if (!vague) wrong(judge, end, "it was never published");
    } else if (end->what == SAW_PULL && needs(judge, end)) {
        wrong(judge, end, "the consumer still needed it");
    } else if (!may_have_gone(judge, end)) {
        wrong(judge, end, "it must still be held");
    }
}

static void skipped(struct judge *judge, const struct event *end) {
    sw_address at = address_of(end);
    const struct known *known = facts_known(&judge->facts, end->kind, &at);
    struct channel_facts *channel = facts_channel(&judge->facts, end->kind, end->generation);
    judge->counts.skipped++;
    if (facts_may_be_lost(&judge->facts, known)) return;
    if (known->begun) wrong(judge, end, "it was published");
    if (channel->latest < end->step) wrong(judge, end, "nothing later was published");
}

/* It became certain while the endpoint waited, and long before the wait was over. */
static bool was_forgotten(struct judge *judge, const struct call_facts *call, const struct event *end) {
    int64_t over_ms = call->begin.at_ms + call->begin.timeout_ms;
    return end->what != SAW_LATEST && certain_since(judge, end) < over_ms - 1000;
}

static void not_yet(struct judge *judge, const struct call_facts *call, const struct event *end) {
    judge->counts.not_yet++;
    bool lived_on = call->epoch == judge->facts.epoch;
    uint64_t latest = facts_channel(&judge->facts, end->kind, end->generation)->latest;
    /* Of the latest, a failure after it may have pushed it out. */
    bool was_there =
        end->what == SAW_LATEST ? call->acked / CALLS_MAX == latest && latest > 0 : call->was_there;
    if (lived_on && was_there) wrong(judge, end, "it was there when it was asked for");
    if (lived_on && was_forgotten(judge, call, end)) wrong(judge, end, "it came while it was waited for");
}

/* What the consumer has got it will release; and what it has asked with is released. */
static void note_progress(struct judge *judge, const struct call_facts *call, const struct event *end) {
    struct consumer_facts *consumer = consumer_of(judge, end);
    bool has_answered = end->status == SW_OK || end->reason != SW_REASON_NONE;
    if (end->reason == SW_REASON_CHECKSUM || end->reason == SW_REASON_ENDPOINT_LOST) has_answered = false;
    if (has_answered && call->epoch == judge->facts.epoch && call->releases > consumer->released)
        consumer->released = call->releases;
    bool has_arrived = end->status == SW_OK || end->reason == SW_REASON_STEP_FAILED;
    if (has_arrived && end->step > consumer->arrived) consumer->arrived = end->step;
    if (has_arrived && end->kind == SW_TENSORS) judge->pulled[end->actor - PULLER_0] = address_of(end);
}

void judge_pull(struct judge *judge, const struct call_facts *call, const struct event *end) {
    switch (end->status == SW_OK ? SW_REASON_STEP_FAILED : end->reason) {
    case SW_REASON_STEP_FAILED:
        if (end->what == SAW_LATEST)
            got_latest(judge, call, end);
        else
            got(judge, end);
        look_at_the_wait(judge, call, end);
        break;
    case SW_REASON_EVICTED:
        evicted(judge, end);
        break;
    case SW_REASON_SKIPPED:
        skipped(judge, end);
        break;
    case SW_REASON_NOT_YET:
        not_yet(judge, call, end);
        break;
    case SW_REASON_SUPERSEDED:
        judge->counts.superseded++;
        if (judge->facts.newest_generation <= end->generation) wrong(judge, end, "none is newer");
        break;
    default:
        judge_unanswered(judge, call, end);
        break;
    }
    if (end->what == SAW_PULL) note_progress(judge, call, end);
}

void judge_exchange(struct judge *judge, const struct call_facts *call, const struct event *end) {
    bool lived_on = call->epoch == judge->facts.epoch;
    if (end->status == SW_OK) {
        if (!end->right)
            judge_fail(judge, "%s: meeting %" PRIu64 ":%" PRIu64 " came to something else than was said",
                       actor_name(end->actor), end->generation, end->step);
        judge->counts.met++;
        if (lived_on) *facts_met(&judge->facts, end->generation, end->step) = judge->facts.epoch;
        if (call->in_quiet) judge->quiet_meetings[end->actor - SPEAKER_0]++;
    } else if (end->reason == SW_REASON_NOT_YET) {
        if (lived_on && call->had_met)
            judge_fail(judge, "%s: all had met at %" PRIu64 ":%" PRIu64 " and were told %s",
                       actor_name(end->actor), end->generation, end->step, end->note);
    } else if (end->reason != SW_REASON_SUPERSEDED || end->generation >= judge->facts.newest_generation) {
        judge_unanswered(judge, call, end);
    }
}
