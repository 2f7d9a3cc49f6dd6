#include "tests/fault/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void judge_init(struct judge *judge, uint64_t seed, bool is_verbose) {
    *judge = (struct judge){.is_verbose = is_verbose, .begun_ms = witness_now_ms(), .attached_epoch = 1};
    facts_init(&judge->facts, seed);
}

void judge_destroy(struct judge *judge) {
    facts_destroy(&judge->facts);
}

static void print_last_events(const struct judge *judge) {
    printf("the last events:\n");
    uint64_t count = judge->counts.events, first = count > LAST_EVENTS ? count - LAST_EVENTS : 0;
    for (uint64_t i = first; i < count; i++) event_print(&judge->last[i % LAST_EVENTS], judge->begun_ms);
}

void judge_fail(struct judge *judge, const char *format, ...) {
    if (!judge->has_failed && !judge->is_verbose) print_last_events(judge);
    judge->has_failed = true;
    va_list arguments;
    va_start(arguments, format);
    printf("VIOLATION: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
}

void judge_unanswered(struct judge *judge, const struct call_facts *call, const struct event *end) {
    bool fine = end->status == SW_UNAVAILABLE || end->status == SW_DEADLINE_EXCEEDED;
    switch (end->reason) {
    case SW_REASON_NONE:
        judge->counts.unanswered++;
        break;
    case SW_REASON_SHUTTING_DOWN:
        judge->counts.refused++;
        fine = judge->drains;
        break;
    case SW_REASON_CHECKSUM:
        fine = ++judge->counts.checksums <= judge->turned_bits;
        break;
    default:
        fine = false;
        break;
    }
    if (!fine)
        judge_fail(judge, "%s was told %s %s: %s", actor_name(end->actor), sw_status_name(end->status),
                   sw_reason_name(end->reason), end->note);
    if (call->in_quiet)
        judge_fail(judge, "%s was told %s although all was quiet: %s", actor_name(end->actor),
                   sw_status_name(end->status), end->note);
}

/* ---- publishing, leases ---- */

static void published(struct judge *judge, const struct call_facts *call, const struct event *end) {
    sw_address at = address_of(end);
    if (end->status == SW_OK) {
        judge->counts.published++;
        facts_published(&judge->facts, end->kind, &at, end->at_ms);
        if (call->epoch == judge->facts.epoch) judge->attached_epoch = call->epoch;
    } else if (end->reason == SW_REASON_NOT_ATTACHED && judge->attached_epoch < judge->facts.epoch) {
        judge->counts.refused++; /* by an endpoint that the lease has yet to reach */
    } else if (end->reason == SW_REASON_PUBLISH_IN_PROGRESS && !call->in_quiet) {
        judge->counts.refused++; /* by one that has yet to notice that the last try broke */
    } else {
        judge_unanswered(judge, call, end);
    }
}

static void attached(struct judge *judge, const struct call_facts *call, const struct event *end) {
    if (end->status == SW_OK) return;
    bool is_stale =
        end->reason == SW_REASON_STALE_GENERATION && end->generation < judge->facts.newest_generation;
    if (!is_stale) judge_unanswered(judge, call, end);
}

static void lease_ended(struct judge *judge, const struct event *end) {
    if (end->reason == SW_REASON_STALE_GENERATION && end->generation < judge->facts.newest_generation) return;
    judge_fail(judge, "the lease of %s ended: %s", actor_name(end->actor), end->note);
}

static void released(struct judge *judge, const struct call_facts *call, const struct event *end) {
    struct channel_facts *channel = facts_channel(&judge->facts, end->kind, end->generation);
    struct consumer_facts *consumer = &channel->consumers[end->actor - PULLER_0];
    bool is_newer = end->reason == SW_REASON_SUPERSEDED && end->generation < judge->facts.newest_generation;
    if (end->status != SW_OK && !is_newer)
        judge_unanswered(judge, call, end);
    else if (end->status == SW_OK && call->epoch == judge->facts.epoch && end->step > consumer->released)
        consumer->released = end->step;
}

/* ---- calls ---- */

static void may_release(struct channel_facts *channel, enum actor puller, uint64_t below) {
    struct consumer_facts *consumer = &channel->consumers[puller - PULLER_0];
    if (below > consumer->may_be_released) consumer->may_be_released = below;
}

static void call_begins(struct judge *judge, const struct event *begin) {
    struct facts *facts = &judge->facts;
    struct call_facts *call = &judge->calls[begin->actor];
    sw_address at = address_of(begin);
    *call = (struct call_facts){
        .is_open = true, .begin = *begin, .epoch = facts->epoch, .in_quiet = judge->is_quiet};
    if (begin->what == SAW_RELEASE)
        may_release(facts_channel(facts, begin->kind, at.generation), begin->actor, at.step);
    if (begin->what == SAW_PUBLISH) facts_publish_begins(facts, begin->kind, &at);
    if (begin->what == SAW_ATTACH && begin->actor == TRAINER) facts->newest_generation = at.generation;
    if (begin->what == SAW_EXCHANGE)
        call->had_met = *facts_met(facts, at.generation, at.step) == facts->epoch;
    if (begin->what == SAW_PULL || begin->what == SAW_LOOK || begin->what == SAW_LATEST) {
        struct channel_facts *channel = facts_channel(facts, begin->kind, at.generation);
        call->acked = channel->acked;
        call->was_there = channel->acked >= place_of(at.step, at.call);
        if (begin->what == SAW_PULL) {
            uint64_t arrived = channel->consumers[begin->actor - PULLER_0].arrived;
            if (arrived > 0 && arrived < at.step) call->releases = arrived + 1;
            may_release(channel, begin->actor, call->releases);
        }
    }
}

static void look_at_the_time(struct judge *judge, const struct call_facts *call, const struct event *end) {
    int64_t overshoot = end->at_ms - call->begin.at_ms - call->begin.timeout_ms;
    if (overshoot > judge->worst_overshoot_ms) {
        judge->worst_overshoot_ms = overshoot;
        snprintf(judge->worst_note, sizeof judge->worst_note, "%s, %s %s", actor_name(end->actor),
                 sw_status_name(end->status), sw_reason_name(end->reason));
    }
    if (overshoot > MARGIN_MS)
        judge_fail(judge, "%s was answered %" PRId64 " ms after its deadline", actor_name(end->actor),
                   overshoot);
}

static void call_ends(struct judge *judge, const struct event *end) {
    struct call_facts *call = &judge->calls[end->actor];
    if (!call->is_open || call->begin.what != end->what) {
        judge_fail(judge, "%s ended without having begun: %s", actor_name(end->actor), end->note);
        return;
    }
    call->is_open = false;
    look_at_the_time(judge, call, end);
    switch (end->what) {
    case SAW_PUBLISH:
        published(judge, call, end);
        break;
    case SAW_ATTACH:
        attached(judge, call, end);
        break;
    case SAW_RELEASE:
        released(judge, call, end);
        break;
    case SAW_EXCHANGE:
        judge_exchange(judge, call, end);
        break;
    case SAW_WATCH:
        judge->watches[end->actor] = (struct watch_facts){0};
        if (end->status != SW_OK) judge_unanswered(judge, call, end);
        break;
    default:
        judge_pull(judge, call, end);
        break;
    }
}

static void stage_ends(struct judge *judge, unsigned stage) {
    judge->calls[PULLER_0 + stage].is_open = judge->calls[SPEAKER_0 + stage].is_open = false;
    facts_stage_ends(&judge->facts, stage);
}

void judge_take(struct judge *judge, const struct event *event) {
    judge->last[judge->counts.events++ % LAST_EVENTS] = *event;
    if (judge->is_verbose) event_print(event, judge->begun_ms);
    if (event->begins) {
        call_begins(judge, event);
        return;
    }
    switch (event->what) {
    case SAW_LEASE:
        lease_ended(judge, event);
        break;
    case SAW_ENDPOINT_ENDS:
        facts_endpoint_ends(&judge->facts);
        break;
    case SAW_STAGE_ENDS:
        stage_ends(judge, (unsigned)event->step);
        break;
    case SAW_QUIET:
        judge->is_quiet = true;
        break;
    case SAW_FAULT:
    case SAW_HEALED:
        break;
    default:
        if (event->what >= SAW_SEEN)
            judge_watch(judge, event);
        else
            call_ends(judge, event);
        break;
    }
}

void judge_look_for_overdue(struct judge *judge) {
    int64_t now_ms = witness_now_ms();
    for (unsigned i = 0; i < ACTORS; i++) {
        struct call_facts *call = &judge->calls[i];
        if (!call->is_open || now_ms - call->begin.at_ms < call->begin.timeout_ms + MARGIN_MS) continue;
        call->is_open = false;
        judge_fail(judge, "%s hangs in a call of %" PRIu64 ":%" PRIu64 "/%" PRIu32, actor_name((enum actor)i),
                   at_words(&call->begin));
    }
}

/* ---- the end ---- */

static bool has_seen_last(const struct judge *judge, enum actor watcher, uint64_t generation,
                          uint64_t last_step) {
    const struct watch_facts *watch = &judge->watches[watcher];
    unsigned calls = truth_calls(judge->facts.seed, SW_METRICS, generation, last_step);
    return watch->generation == generation && watch->place == place_of(last_step, calls - 1);
}

static bool has_pulled_last(const struct judge *judge, unsigned consumer, uint64_t generation,
                            uint64_t last_step) {
    const sw_address *pulled = &judge->pulled[consumer];
    return pulled->generation == generation && pulled->step == last_step;
}

bool judge_all_is_well(const struct judge *judge, uint64_t generation, uint64_t last_step) {
    bool well = has_seen_last(judge, WATCHER, generation, last_step) &&
                has_seen_last(judge, LATE_WATCHER, generation, last_step);
    for (unsigned i = 0; i < CONSUMERS; i++) well = well && has_pulled_last(judge, i, generation, last_step);
    for (unsigned i = 0; i < STAGES; i++) well = well && judge->quiet_meetings[i] >= 2;
    return well;
}

void judge_print_missing(const struct judge *judge, uint64_t generation, uint64_t last_step) {
    printf("of %" PRIu64 ":%" PRIu64 ": watchers %d %d, pulled", generation, last_step,
           has_seen_last(judge, WATCHER, generation, last_step),
           has_seen_last(judge, LATE_WATCHER, generation, last_step));
    for (unsigned i = 0; i < CONSUMERS; i++) printf(" %d", has_pulled_last(judge, i, generation, last_step));
    printf(", met");
    for (unsigned i = 0; i < STAGES; i++) printf(" %u", judge->quiet_meetings[i]);
    printf("\n");
}
