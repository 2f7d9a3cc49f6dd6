#include <stdlib.h>

#include "tests/model/reference_state.h"

/* Whoever is expected to say when it is done with the pin, or anybody else. */
static void note_streamer(struct reference *r, int index, int consumer) {
    struct item *item = &r->items[index];
    const struct channel *c = &r->channels[item->channel];
    if (!ref_item_is_pinned(r, index)) item->streamed_by_other = false;
    item->ended = false;
    if (item->held && consumer != NOBODY && c->declared && c->policy.consumers[consumer] &&
        c->pins_below[consumer] <= item->at.step)
        item->streamed_by[consumer] = true;
    else
        item->streamed_by_other = true;
}

static struct reply serve(struct reference *r, const struct wait *wait, int index) {
    struct item *item = &r->items[index];
    const struct channel *c = &r->channels[item->channel];
    const struct operation *o = wait->operation;
    if (o->want == WANT_MISSING_TENSOR) return reply_refused(SW_REASON_NO_SUCH_TENSOR, "tensors=[\"t\"]");
    if (o->want == WANT_FAR_BLOCK) return reply_refused(SW_REASON_BAD_RANGE, "%s", "");
    if (c->kind == SW_TENSORS) {
        r->pins[o->handle] = index + 1;
        note_streamer(r, index, o->consumer);
        item->streams++;
    }
    r->streams[r->stream_count++] = (struct stream){.open = true, .handle = o->handle, .item = index};
    if (!o->keep_open) ref_stream_finish(r, o->handle);
    return reply_ok("generation %llu stage %u group %u %s %llu/%u = %u", (unsigned long long)c->generation,
                    c->stage, c->group, channel_names[c->name], (unsigned long long)item->at.step,
                    item->at.call, item->value);
}

void ref_stream_finish(struct reference *r, int handle) {
    for (int i = 0; i < r->stream_count; i++) {
        struct stream *stream = &r->streams[i];
        if (!stream->open || stream->handle != handle) continue;
        stream->open = false;
        struct item *item = &r->items[stream->item];
        if (r->channels[item->channel].kind != SW_TENSORS) return;
        if (--item->streams == 0) item->pin_until = r->now + r->setting.pin_ms;
        ref_bound_pinned(r);
    }
}

static void apply_release(struct reference *r, int channel, int consumer, const struct operation *o) {
    struct channel *c = &r->channels[channel];
    uint64_t below = o->below;
    bool ends_pins = o->ends_pins || is_broken(r, MUTANT_RELEASE_ENDS_PIN);
    if (!c->declared || !c->policy.consumers[consumer]) return;
    if (ends_pins && below > c->pins_below[consumer]) c->pins_below[consumer] = below;
    if (below > c->below[consumer] || is_broken(r, MUTANT_RELEASE_GOES_BACK)) c->below[consumer] = below;
    ref_channel_trim(r, channel);
}

struct reply ref_release(struct reference *r, const struct operation *o) {
    uint32_t stage;
    struct reply refusal;
    if (o->other_run) return reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    if (o->generation && o->generation < r->generation)
        return reply_refused(SW_REASON_SUPERSEDED, "generation=%llu", (unsigned long long)r->generation);
    if (ref_resolve_stage(r, o, &stage, &refusal)) return refusal;
    int channel = ref_channel_find(r, stage, o->group, o->name, o->kind);
    bool now = !o->generation || o->generation == r->generation;
    if (channel != NONE && now) apply_release(r, channel, o->consumer, o);
    if (channel != NONE && now && o->both) apply_release(r, channel, 0, o);
    return reply_ok("%s", "");
}

struct reply ref_pull(struct reference *r, const struct operation *o) {
    struct wait wait = {.operation = o, .generation = o->generation ? o->generation : r->generation};
    struct reply refusal;
    if (o->other_run) return reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    if (ref_resolve_stage(r, o, &wait.stage, &refusal)) return refusal;
    int channel = ref_channel_find(r, wait.stage, o->group, o->name, o->kind);
    bool now = !o->generation || o->generation == r->generation;
    if (o->consumer != NOBODY && channel != NONE && now) apply_release(r, channel, o->consumer, o);
    int pinned = o->of >= 0 && r->pins[o->of] ? r->pins[o->of] - 1 : NONE;
    if (pinned != NONE && ref_item_is_pinned(r, pinned)) return serve(r, &wait, pinned);
    return ref_wait_or_answer(r, wait);
}

static int newest_held(const struct reference *r, int channel) {
    for (int i = r->item_count - 1; i >= 0; i--) {
        const struct item *item = &r->items[i];
        if (item->channel == channel && item->held && (!item->failed || is_broken(r, MUTANT_LATEST_FAILED)))
            return i;
    }
    return NONE;
}

static void add_position(struct reply *reply, const char *key, const struct reference *r, int item) {
    if (item == NONE) return;
    reply_add(reply, "%s=%llu/%u", key, (unsigned long long)r->items[item].at.step, r->items[item].at.call);
}

/* The rows between a held item and a finished channel. True if one of them applies. */
static bool answer_from_items(struct reference *r, const struct wait *wait, int channel, struct reply *ret) {
    const struct operation *o = wait->operation;
    struct position at = {o->step, o->call};
    int found = o->latest ? newest_held(r, channel) : ref_channel_item_at(r, channel, at);
    if (found != NONE && r->items[found].held) {
        if (!r->items[found].failed)
            *ret = serve(r, wait, found);
        else
            *ret = reply_refused(SW_REASON_STEP_FAILED, "message=%s", messages[r->items[found].value]);
        return true;
    }
    int latest = ref_channel_latest(r, channel);
    bool below_next = at.step < r->channels[channel].next_step && !is_broken(r, MUTANT_NEXT_STEP_IGNORED);
    bool passed = below_next || (latest != NONE && !is_before(r->items[latest].at, at));
    if (r->channels[channel].closing.reason && is_broken(r, MUTANT_FINISHED_FIRST)) passed = false;
    if (o->latest || !passed) return false;
    if (!ref_position_is_gone(r, channel, at)) {
        *ret = reply_refused(SW_REASON_SKIPPED, "%s", "");
    } else {
        *ret = reply_refused(SW_REASON_EVICTED, "%s", "");
        add_position(ret, "oldest", r, ref_channel_oldest_held(r, channel));
    }
    return true;
}

static struct reply answer_now(struct reference *r, const struct wait *wait) {
    const struct operation *o = wait->operation;
    struct reply reply;
    int channel = ref_channel_find(r, wait->stage, o->group, o->name, o->kind);
    if (channel != NONE && answer_from_items(r, wait, channel, &reply)) return reply;
    const struct stage *s = ref_stage_get(r, wait->stage, o->group);
    struct closing closing = channel != NONE ? r->channels[channel].closing : s->closing;
    if (closing.reason == SW_CLOSE_FINISHED) {
        reply = reply_refused(SW_REASON_FINISHED, "%s", "");
        if (channel != NONE) add_position(&reply, "last", r, ref_channel_latest(r, channel));
        return reply;
    }
    if (closing.reason)
        return reply_refused(SW_REASON_PUBLISHER_ABORTED, "message=%s", messages[closing.message]);
    if (r->draining && is_broken(r, MUTANT_DRAIN_BEFORE_LOST))
        return reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    if (s->lost && (channel != NONE || !is_broken(r, MUTANT_UNKNOWN_NOT_LOST)))
        return reply_refused(SW_REASON_PUBLISHER_LOST, "%s", "");
    return reply_open();
}

struct reply ref_pull_answer(struct reference *r, const struct wait *wait) {
    if (wait->generation && wait->generation < r->generation)
        return reply_refused(SW_REASON_SUPERSEDED, "generation=%llu", (unsigned long long)r->generation);
    bool is_now = wait->generation == r->generation || is_broken(r, MUTANT_OTHER_GENERATION_ANSWERS);
    if (r->generation && is_now) {
        struct reply reply = answer_now(r, wait);
        if (!reply.open) return reply;
    }
    if (r->draining && !is_broken(r, MUTANT_DRAIN_HANGS))
        return reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    return reply_open();
}

static struct reply not_yet(const struct reference *r, const struct wait *wait, sw_status status) {
    const struct operation *o = wait->operation;
    struct reply reply = {.status = status, .reason = SW_REASON_NOT_YET};
    if (o->type == OP_EXCHANGE) {
        ref_add_silent(r, wait, &reply);
        return reply;
    }
    int channel = ref_channel_find(r, wait->stage, o->group, o->name, o->kind);
    if (channel != NONE && wait->generation == r->generation)
        add_position(&reply, "latest", r, ref_channel_latest(r, channel));
    return reply;
}

static struct reply answer(struct reference *r, struct wait *wait) {
    return wait->operation->type == OP_PULL ? ref_pull_answer(r, wait) : ref_word_answer(r, wait);
}

static uint32_t waiters(const struct reference *r) {
    uint32_t count = 0;
    for (int i = 0; i < r->wait_count; i++) count += r->waits[i].waiting;
    return count;
}

struct reply ref_wait_or_answer(struct reference *r, struct wait wait) {
    const struct operation *o = wait.operation;
    struct reply reply = answer(r, &wait);
    if (!reply.open) return reply;
    if (o->no_wait) return not_yet(r, &wait, SW_NOT_FOUND);
    ref_settle(r); /* who has got an answer by this does not wait any more */
    if (waiters(r) == r->setting.max_waiters) return reply_refused(SW_REASON_LIMIT, "limit=waiters");
    if (o->wait_ms < 0) return not_yet(r, &wait, SW_DEADLINE_EXCEEDED);
    wait.waiting = true;
    wait.until = r->now + (o->wait_ms ? o->wait_ms : r->setting.max_wait_ms);
    r->waits[r->wait_count++] = wait;
    return reply;
}

void ref_wait_cancel(struct reference *r, int handle) {
    for (int i = 0; i < r->wait_count; i++)
        if (r->waits[i].operation->handle == handle) r->waits[i].waiting = false;
}

void ref_settle(struct reference *r) {
    for (int i = 0; i < r->wait_count; i++) {
        struct wait *wait = &r->waits[i];
        if (!wait->waiting) continue;
        if (!wait->generation) wait->generation = r->generation;
        struct reply reply = answer(r, wait);
        if (reply.open && r->now >= wait->until) reply = not_yet(r, wait, SW_DEADLINE_EXCEEDED);
        if (reply.open) continue;
        wait->waiting = false;
        outcome_note(r->outcome, wait->operation->handle, NOTE_WOKEN, 0, r->now)->reply = reply;
    }
}
