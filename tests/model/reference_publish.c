#include <string.h>

#include "tests/model/reference_state.h"

/* The refusals that don't depend on the channel: rows 2 to 5 of the table. True if it is refused. */
static bool writer_is_refused(const struct reference *r, const struct operation *o, struct reply *refusal) {
    uint64_t current = r->generation ? r->generation : 1;
    if (o->other_run)
        *refusal = reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    else if (r->draining && !is_broken(r, MUTANT_DRAIN_PUBLISHES))
        *refusal = reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    else if (o->generation && o->generation < current)
        *refusal = reply_refused(SW_REASON_STALE_GENERATION, "generation=%llu", (unsigned long long)current);
    else if (o->generation > current)
        *refusal = reply_refused(SW_REASON_NOT_ATTACHED, "%s", "");
    else
        return false;
    return true;
}

static int writer_channel(struct reference *r, const struct operation *o) {
    return ref_channel_get(r, o->has_stage ? o->stage : OWN_STAGE, o->group, o->name, o->kind);
}

static int open_publish_of(const struct reference *r, int channel) {
    for (int i = 0; i < r->publish_count; i++) {
        const struct publish *p = &r->publishes[i];
        if (p->open && !p->known && p->channel == channel) return i;
    }
    return NONE;
}

enum place { PLACE_NEW, PLACE_DUPLICATE, PLACE_REFUSED };

static enum place find_place(const struct reference *r, int channel, struct position at, bool failed,
                             uint32_t value, struct reply *refusal) {
    const struct channel *c = &r->channels[channel];
    int old = ref_channel_item_at(r, channel, at), latest = ref_channel_latest(r, channel);
    if (old != NONE && ref_item_is_known(r, old)) {
        bool same = r->items[old].failed == failed && r->items[old].value == value;
        if (same || is_broken(r, MUTANT_OTHER_IS_DUPLICATE)) return PLACE_DUPLICATE;
        *refusal = reply_refused(SW_REASON_CONFLICT, "%s", "");
        return PLACE_REFUSED;
    }
    bool below = latest != NONE && (is_broken(r, MUTANT_CALL_IGNORED) ? at.step < r->items[latest].at.step
                                                                      : !is_before(r->items[latest].at, at));
    bool before_next = at.step < c->next_step && !is_broken(r, MUTANT_NEXT_STEP_IGNORED);
    if (below || before_next)
        *refusal = reply_refused(SW_REASON_STEP_WENT_BACK, "%s", "");
    else if (c->closing.reason && !is_broken(r, MUTANT_PUBLISH_AFTER_CLOSE))
        *refusal = reply_refused(SW_REASON_CHANNEL_CLOSED, "%s", "");
    else if (open_publish_of(r, channel) != NONE)
        *refusal = reply_refused(SW_REASON_PUBLISH_IN_PROGRESS, "%s", "");
    else
        return PLACE_NEW;
    return PLACE_REFUSED;
}

static bool too_many_are_open(const struct reference *r) {
    uint32_t open = 0;
    for (int i = 0; i < r->publish_count; i++) open += r->publishes[i].open;
    return open == r->setting.max_publishes;
}

/* The rows about room. */
static bool find_room(struct reference *r, int channel, const struct operation *o, struct reply *refusal) {
    sw_item_kind kind = r->channels[channel].kind;
    bool holders[CONSUMERS] = {false};
    char text[64];
    if (o->size > (kind == SW_TENSORS ? r->setting.store_bytes : r->setting.metrics_bytes)) {
        *refusal = reply_refused(SW_REASON_TOO_LARGE, "%s", "");
        return false;
    }
    if (kind == SW_TENSORS && too_many_are_open(r)) {
        *refusal = reply_refused(SW_REASON_LIMIT, "limit=publishes");
        return false;
    }
    if (ref_make_room(r, kind, channel, o->step, o->size, holders)) return true;
    *refusal = reply_refused(SW_REASON_STORE_FULL, "%s", "");
    if (holders[0] || holders[1] || holders[2])
        reply_add(refusal, "consumers=%s", ref_consumers_as_json(holders, text));
    return false;
}

static void add_item(struct reference *r, int channel, struct position at, bool failed, uint32_t value,
                     uint64_t size) {
    r->items[r->item_count++] = (struct item){
        .channel = channel,
        .at = at,
        .failed = failed,
        .held = true,
        .value = value,
        .size = size,
        .order = ++r->orders,
        .pin_until = REFERENCE_NEVER,
    };
    ref_channel_trim(r, channel);
}

static struct position position_of(const struct operation *o) {
    return (struct position){o->step, o->call};
}

struct reply ref_publish(struct reference *r, const struct operation *o) {
    struct reply refusal;
    if (writer_is_refused(r, o, &refusal)) return refusal;
    int channel = writer_channel(r, o);
    enum place place = find_place(r, channel, position_of(o), false, o->value, &refusal);
    if (place == PLACE_REFUSED) return refusal;
    if (place == PLACE_DUPLICATE) return reply_ok("duplicate");
    if (!find_room(r, channel, o, &refusal)) return refusal;
    add_item(r, channel, position_of(o), false, o->value, o->size);
    return reply_ok("%s", "");
}

struct reply ref_publish_failure(struct reference *r, const struct operation *o) {
    struct reply refusal;
    if (writer_is_refused(r, o, &refusal)) return refusal;
    int channel = writer_channel(r, o);
    enum place place = find_place(r, channel, position_of(o), true, (uint32_t)o->message, &refusal);
    if (place == PLACE_REFUSED) return refusal;
    if (place == PLACE_DUPLICATE) return reply_ok("duplicate");
    add_item(r, channel, position_of(o), true, (uint32_t)o->message, 0);
    return reply_ok("%s", "");
}

struct reply ref_publish_open(struct reference *r, const struct operation *o) {
    struct reply refusal;
    if (writer_is_refused(r, o, &refusal)) return refusal;
    struct publish p = {
        .open = true, .handle = o->handle, .at = position_of(o), .value = o->value, .size = o->size};
    p.channel = writer_channel(r, o);
    int old = ref_channel_item_at(r, p.channel, p.at);
    p.known = old != NONE && ref_item_is_known(r, old) && !r->items[old].failed;
    p.same = p.known && (r->items[old].value == o->value || is_broken(r, MUTANT_OTHER_IS_DUPLICATE));
    if (p.known && too_many_are_open(r)) return reply_refused(SW_REASON_LIMIT, "limit=publishes");
    if (!p.known) {
        if (find_place(r, p.channel, p.at, false, o->value, &refusal) == PLACE_REFUSED) return refusal;
        if (!find_room(r, p.channel, o, &refusal)) return refusal;
    }
    r->publishes[r->publish_count++] = p;
    return reply_open();
}

struct reply ref_publish_end(struct reference *r, const struct operation *o, bool whole) {
    for (int i = 0; i < r->publish_count; i++) {
        struct publish *p = &r->publishes[i];
        if (!p->open || p->handle != o->of) continue;
        if (!whole && is_broken(r, MUTANT_BROKEN_KEEPS_PLACE)) return reply_ok("%s", "");
        p->open = false;
        if (p->known && whole)
            return p->same ? reply_ok("duplicate") : reply_refused(SW_REASON_CONFLICT, "%s", "");
        if (p->known || (!whole && !is_broken(r, MUTANT_BROKEN_IS_COMMITTED))) break;
        add_item(r, p->channel, p->at, false, p->value, p->size);
        break;
    }
    return reply_ok("%s", "");
}

void ref_end_publishes(struct reference *r, int channel, sw_reason reason) {
    for (int i = 0; i < r->publish_count; i++) {
        struct publish *p = &r->publishes[i];
        if (!p->open || (channel != ALL_CHANNELS && p->channel != channel)) continue;
        p->open = false;
        struct note *note = outcome_note(r->outcome, p->handle, NOTE_PUBLISH_ENDED, 0, r->now);
        note->reply = reply_refused(reason, "%s", "");
        if (reason == SW_REASON_STALE_GENERATION)
            reply_add(&note->reply, "generation=%llu", (unsigned long long)r->generation);
    }
}

static void close_one(struct reference *r, int channel, struct closing closing) {
    struct channel *c = &r->channels[channel];
    if (!c->closing.reason) ref_watch_channel_closed(r, channel);
    if (!c->closing.reason || is_broken(r, MUTANT_CLOSE_TWICE)) c->closing = closing;
    ref_end_publishes(r, channel, SW_REASON_CHANNEL_CLOSED);
}

static struct reply close_all(struct reference *r, uint32_t stage, uint32_t group, struct closing closing) {
    if (!r->generation) ref_begin_generation(r, 1);
    struct stage *s = ref_stage_get(r, stage, group);
    if (!s->closing.reason && !is_broken(r, MUTANT_ALL_SPARES_UNKNOWN)) s->closing = closing;
    for (int i = 0; i < r->channel_count; i++) {
        const struct channel *c = &r->channels[i];
        if (c->generation == r->generation && c->stage == stage && c->group == group)
            close_one(r, i, closing);
    }
    return reply_ok("%s", "");
}

struct reply ref_close_channel(struct reference *r, const struct operation *o) {
    struct reply refusal;
    struct closing closing = {o->reason, o->message};
    if (writer_is_refused(r, o, &refusal)) return refusal;
    if (o->all) return close_all(r, o->has_stage ? o->stage : OWN_STAGE, o->group, closing);
    int channel = writer_channel(r, o);
    struct closing old = r->channels[channel].closing;
    bool other = old.reason && (old.reason != closing.reason || old.message != closing.message);
    if (other && !is_broken(r, MUTANT_CLOSE_TWICE)) return reply_refused(SW_REASON_CONFLICT, "%s", "");
    close_one(r, channel, closing);
    return reply_ok("%s", "");
}
