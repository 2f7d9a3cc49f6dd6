#include <stdlib.h>
#include <string.h>

#include "tests/model/reference_state.h"

static bool fits_name(const char *pattern, const char *name) {
    size_t size = strlen(pattern);
    if (pattern[size - 1] == '*') return strncmp(name, pattern, size - 1) == 0;
    return strcmp(name, pattern) == 0;
}

static bool is_wanted(const struct reference *r, const struct operation *o, const struct channel *c) {
    const struct filter *filter = &filters[o->filter];
    for (int i = 0; i < filter->count; i++) {
        const struct filter_part *part = &filter->parts[i];
        bool any_stage = part->stage == ANYTHING || is_broken(r, MUTANT_STAGE_UNFILTERED);
        if (!any_stage && (uint32_t)part->stage != c->stage) continue;
        if (part->group != ANYTHING && (uint32_t)part->group != c->group) continue;
        if (!part->channel || fits_name(part->channel, channel_names[c->name])) return true;
    }
    return filter->count == 0;
}

static struct position after(struct position at) {
    return (struct position){at.step, at.call + 1};
}

static const struct operation_position *position_of(const struct operation *o, const struct channel *c) {
    for (int i = 0; i < o->position_count; i++)
        if (o->positions[i].name == c->name && c->stage == OWN_STAGE && c->group == 0)
            return &o->positions[i];
    return NULL;
}

/* Where a position leads in the channel's generation: into it, beyond it, or nowhere since it is of an older
 * one. */
static struct cursor *cursor_add(struct reference *r, int watch, int channel) {
    if (r->cursor_count == CURSORS_MAX) abort();
    struct cursor *cursor = &r->cursors[r->cursor_count++];
    *cursor = (struct cursor){.watch = watch, .channel = channel};
    const struct channel *c = &r->channels[channel];
    const struct operation_position *p = position_of(r->watches[watch].operation, c);
    if (p && p->generation == c->generation) cursor->next = (struct position){p->step, p->call};
    cursor->ahead = p && p->generation > c->generation;
    return cursor;
}

static bool is_watched(const struct reference *r, int watch, int channel) {
    const struct channel *c = &r->channels[channel];
    return r->watches[watch].open && c->generation == r->generation && c->kind == SW_METRICS &&
           is_wanted(r, r->watches[watch].operation, c);
}

void ref_watch_channel_created(struct reference *r, int channel) {
    for (int i = 0; i < r->watch_count; i++) cursor_add(r, i, channel);
}

void ref_watch_channel_closed(struct reference *r, int channel) {
    for (int i = 0; i < r->cursor_count; i++) {
        if (r->cursors[i].channel != channel) continue;
        r->cursors[i].closing_due = true;
        r->cursors[i].closing_place = r->item_count;
    }
}

void ref_watch_stage_lost(struct reference *r, uint32_t stage, uint32_t group) {
    for (int i = 0; i < r->cursor_count; i++) {
        const struct channel *c = &r->channels[r->cursors[i].channel];
        if (c->stage != stage || c->group != group || c->closing.reason) continue;
        r->cursors[i].loss_due = true;
        r->cursors[i].loss_place = r->item_count;
    }
}

void ref_watch_generation_begun(struct reference *r) {
    for (int i = 0; i < r->watch_count; i++) r->watches[i].generation_due = r->generation;
}

/* Was there, or may there have been, something from the cursor on that is gone? */
static bool misses_something(const struct reference *r, const struct cursor *cursor) {
    int latest = ref_channel_latest(r, cursor->channel);
    if (latest == NONE || is_before(r->items[latest].at, cursor->next)) return false;
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (item->channel != cursor->channel || item->held || is_before(item->at, cursor->next)) continue;
        if (ref_item_is_known(r, i)) return true;
    }
    int there = ref_channel_item_at(r, cursor->channel, cursor->next);
    if (there != NONE && r->items[there].held) return false;
    return ref_position_is_gone(r, cursor->channel, cursor->next);
}

static void start_at_latest(const struct reference *r, struct cursor *cursor) {
    int latest = ref_channel_latest(r, cursor->channel);
    cursor->next = latest != NONE ? after(r->items[latest].at) : (struct position){0, 0};
}

static void start_at_position_or_oldest(struct reference *r, struct cursor *cursor) {
    const struct channel *c = &r->channels[cursor->channel];
    const struct operation_position *p = position_of(r->watches[cursor->watch].operation, c);
    int oldest = ref_channel_oldest_held(r, cursor->channel);
    if (is_broken(r, MUTANT_WATCH_REPEATS)) cursor->next = (struct position){0, 0};
    bool leads_here = p && p->generation >= c->generation;
    if (leads_here)
        cursor->gap_due = !cursor->ahead && misses_something(r, cursor);
    else if (oldest == NONE)
        start_at_latest(r, cursor);
    else
        cursor->next = r->items[oldest].at;
    cursor->closing_due = c->closing.reason != 0;
    cursor->loss_due = !cursor->closing_due && ref_stage_get(r, c->stage, c->group)->lost;
    cursor->closing_place = cursor->loss_place = r->item_count;
}

struct reply ref_watch(struct reference *r, const struct operation *o) {
    if (o->other_run) return reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    uint32_t open = 0;
    for (int i = 0; i < r->watch_count; i++) open += r->watches[i].open;
    if (open == r->setting.max_watches) return reply_refused(SW_REASON_LIMIT, "limit=watches");
    int watch = r->watch_count++;
    r->watches[watch] = (struct watch){.open = true, .operation = o};
    for (int i = 0; i < o->position_count; i++)
        if (o->positions[i].generation < r->generation) r->watches[watch].generation_due = r->generation;
    for (int i = 0; i < r->channel_count; i++) {
        if (r->channels[i].generation != r->generation) continue;
        struct cursor *cursor = cursor_add(r, watch, i);
        if (o->start == WATCH_NEW)
            start_at_latest(r, cursor);
        else
            start_at_position_or_oldest(r, cursor);
    }
    return reply_ok("%s", "");
}

void ref_watch_stop(struct reference *r, int handle) {
    for (int i = 0; i < r->watch_count; i++)
        if (r->watches[i].operation->handle == handle) r->watches[i].open = false;
}

static void add_event(struct reference *r, const struct cursor *cursor, struct reply event) {
    const struct channel *c = &r->channels[cursor->channel];
    int handle = r->watches[cursor->watch].operation->handle;
    int group = channel_group(c->stage, c->group, c->name, c->kind);
    outcome_note(r->outcome, handle, NOTE_EVENT, group, r->now)->reply = event;
}

static int next_held(const struct reference *r, const struct cursor *cursor) {
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (item->channel == cursor->channel && item->held && !cursor->ahead &&
            !is_before(item->at, cursor->next))
            return i;
    }
    return NONE;
}

/* One that lags missed what has gone meanwhile. */
static bool has_gap(const struct reference *r, const struct cursor *cursor) {
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (item->channel != cursor->channel || item->held || cursor->ahead) continue;
        if (!is_before(item->at, cursor->next)) return true;
    }
    return cursor->gap_due;
}

static void tell_gap(struct reference *r, struct cursor *cursor, int next) {
    struct reply event = reply_ok("gap generation %llu from %llu/%u to ",
                                  (unsigned long long)r->channels[cursor->channel].generation,
                                  (unsigned long long)cursor->next.step, cursor->next.call);
    if (next == NONE) {
        reply_add(&event, "nothing held");
        start_at_latest(r, cursor);
    } else {
        reply_add(&event, "%llu/%u", (unsigned long long)r->items[next].at.step, r->items[next].at.call);
        cursor->next = r->items[next].at;
    }
    cursor->gap_due = false;
    if (!is_broken(r, MUTANT_WATCH_HIDES_GAPS)) add_event(r, cursor, event);
}

static void tell_item(struct reference *r, struct cursor *cursor, int index) {
    const struct item *item = &r->items[index];
    bool failed = item->failed && !is_broken(r, MUTANT_FAILURE_AS_ITEM);
    struct reply event = reply_ok("%s generation %llu %llu/%u = ", failed ? "failed" : "published",
                                  (unsigned long long)r->channels[cursor->channel].generation,
                                  (unsigned long long)item->at.step, item->at.call);
    if (item->failed)
        reply_add(&event, "%s", messages[item->value]);
    else
        reply_add(&event, "%u", item->value);
    add_event(r, cursor, event);
    cursor->next = after(item->at);
}

static void tell_closed(struct reference *r, struct cursor *cursor) {
    const struct channel *c = &r->channels[cursor->channel];
    int latest = ref_channel_latest(r, cursor->channel);
    const char *reason = c->closing.reason == SW_CLOSE_FINISHED ? "FINISHED" : "ABORTED";
    bool lost = cursor->loss_due;
    struct reply event = reply_ok("closed %s '%s' generation %llu after %d items",
                                  lost ? "PUBLISHER_LOST" : reason, lost ? "" : messages[c->closing.message],
                                  (unsigned long long)c->generation, ref_channel_items(r, cursor->channel));
    if (latest != NONE)
        reply_add(&event, ", last %llu/%u", (unsigned long long)r->items[latest].at.step,
                  r->items[latest].at.call);
    if (lost)
        cursor->loss_due = false;
    else
        cursor->closing_due = false;
    if (!is_broken(r, lost ? MUTANT_LOSS_UNTOLD : MUTANT_CLOSING_UNTOLD)) add_event(r, cursor, event);
}

/* A loss that is told late still comes before what was published after it. */
static void read_channel(struct reference *r, struct cursor *cursor) {
    for (;;) {
        int next = next_held(r, cursor);
        bool gap = has_gap(r, cursor);
        int place = cursor->loss_due ? cursor->loss_place : cursor->closing_place;
        if ((cursor->loss_due || cursor->closing_due) && (next != NONE ? place <= next : !gap))
            tell_closed(r, cursor);
        else if (gap)
            tell_gap(r, cursor, next);
        else if (next != NONE)
            tell_item(r, cursor, next);
        else
            return;
    }
}

static void read_one(struct reference *r, int watch) {
    struct watch *w = &r->watches[watch];
    if (!w->open) return;
    if (w->generation_due && !is_broken(r, MUTANT_GENERATION_UNTOLD)) {
        struct note *note = outcome_note(r->outcome, w->operation->handle, NOTE_EVENT, -1, r->now);
        note->reply = reply_ok("generation %llu has begun", (unsigned long long)w->generation_due);
    }
    w->generation_due = 0;
    for (int i = 0; i < r->cursor_count; i++)
        if (r->cursors[i].watch == watch && is_watched(r, watch, r->cursors[i].channel))
            read_channel(r, &r->cursors[i]);
}

void ref_watch_read(struct reference *r, int handle) {
    for (int i = 0; i < r->watch_count; i++)
        if (r->watches[i].operation->handle == handle) read_one(r, i);
}

void ref_watch_read_all(struct reference *r) {
    for (int i = 0; i < r->watch_count; i++)
        if (!r->watches[i].operation->lags) read_one(r, i);
}
