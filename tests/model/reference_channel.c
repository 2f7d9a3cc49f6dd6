#include <stdlib.h>
#include <string.h>

#include "tests/model/reference_state.h"

int ref_channel_find(const struct reference *r, uint32_t stage, uint32_t group, int name, sw_item_kind kind) {
    for (int i = 0; i < r->channel_count; i++) {
        const struct channel *c = &r->channels[i];
        if (c->generation == r->generation && c->stage == stage && c->group == group && c->name == name &&
            c->kind == kind)
            return i;
    }
    return NONE;
}

int ref_channel_get(struct reference *r, uint32_t stage, uint32_t group, int name, sw_item_kind kind) {
    if (!r->generation) ref_begin_generation(r, 1);
    int found = ref_channel_find(r, stage, group, name, kind);
    if (found != NONE) return found;
    if (r->channel_count == CHANNELS_MAX) abort();
    r->channels[r->channel_count] = (struct channel){
        .generation = r->generation,
        .stage = stage,
        .group = group,
        .name = name,
        .kind = kind,
        .closing = ref_stage_get(r, stage, group)->closing,
    };
    ref_watch_channel_created(r, r->channel_count);
    return r->channel_count++;
}

struct stage *ref_stage_get(struct reference *r, uint32_t stage, uint32_t group) {
    for (int i = 0; i < r->stage_count; i++) {
        struct stage *s = &r->stages[i];
        if (s->generation == r->generation && s->stage == stage && s->group == group) return s;
    }
    if (r->stage_count == STAGES_MAX) abort();
    struct stage *s = &r->stages[r->stage_count++];
    *s = (struct stage){
        .generation = r->generation, .stage = stage, .group = group, .lost_at = REFERENCE_NEVER};
    return s;
}

int ref_channel_latest(const struct reference *r, int channel) {
    for (int i = r->item_count - 1; i >= 0; i--)
        if (r->items[i].channel == channel) return i;
    return NONE;
}

int ref_channel_oldest_held(const struct reference *r, int channel) {
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].channel == channel && r->items[i].held) return i;
    return NONE;
}

int ref_channel_item_at(const struct reference *r, int channel, struct position at) {
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].channel == channel && is_same(r->items[i].at, at)) return i;
    return NONE;
}

int ref_channel_items(const struct reference *r, int channel) {
    int items = 0;
    for (int i = 0; i < r->item_count; i++) items += r->items[i].channel == channel;
    return items;
}

bool ref_item_is_known(const struct reference *r, int item) {
    if (r->items[item].held) return true;
    if (is_broken(r, MUTANT_DIGESTS_GO)) return false;
    int newer = 0;
    for (int i = item + 1; i < r->item_count; i++) newer += r->items[i].channel == r->items[item].channel;
    return newer < KEPT_DIGESTS;
}

bool ref_position_is_gone(const struct reference *r, int channel, struct position at) {
    if (is_broken(r, MUTANT_SKIPPED_IS_EVICTED)) return true;
    bool below_next = at.step < r->channels[channel].next_step && !is_broken(r, MUTANT_NEXT_STEP_IGNORED);
    bool below_all_known = true, forgotten = false;
    int latest = ref_channel_latest(r, channel);
    for (int i = 0; i < r->item_count; i++) {
        if (r->items[i].channel != channel) continue;
        if (!ref_item_is_known(r, i)) {
            forgotten = true;
            continue;
        }
        if (is_same(r->items[i].at, at)) return true;
        if (is_before(r->items[i].at, at)) below_all_known = false;
    }
    if (latest != NONE && is_before(r->items[latest].at, at)) return below_next;
    return below_all_known && (forgotten || below_next);
}

bool ref_is_expected(const struct channel *channel, int consumer) {
    return channel->declared && channel->policy.consumers[consumer] && !channel->dropped[consumer];
}

bool ref_step_is_needed(const struct reference *r, int channel, uint64_t step, const bool *but) {
    const struct channel *c = &r->channels[channel];
    for (int i = 0; i < CONSUMERS; i++) {
        if (!ref_is_expected(c, i) || (but && but[i])) continue;
        if (is_broken(r, MUTANT_RELEASES_ITSELF) ? c->below[i] < step : c->below[i] <= step) return true;
    }
    return false;
}

static bool is_first_held_of_step(const struct reference *r, int item) {
    if (!r->items[item].held) return false;
    for (int i = 0; i < item; i++)
        if (r->items[i].held && r->items[i].channel == r->items[item].channel &&
            r->items[i].at.step == r->items[item].at.step)
            return false;
    return true;
}

static uint64_t held_steps_from(const struct reference *r, int channel, uint64_t step,
                                const uint64_t *extra) {
    uint64_t steps = extra && *extra >= step;
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (item->channel != channel || item->at.step < step || !is_first_held_of_step(r, i)) continue;
        steps += !(extra && *extra == item->at.step);
    }
    return steps;
}

void ref_find_laggards(const struct reference *r, int channel, const uint64_t *extra, bool *ret_laggards) {
    const struct channel *c = &r->channels[channel];
    uint64_t lag = c->declared && c->policy.lag ? c->policy.lag : r->setting.lag;
    for (int i = 0; i < CONSUMERS; i++) {
        ret_laggards[i] = false;
        if (!lag || !ref_is_expected(c, i)) continue;
        uint64_t steps = held_steps_from(r, channel, c->below[i], extra);
        ret_laggards[i] = steps > lag + (is_broken(r, MUTANT_DROPPED_EARLY) ? 0 : 1);
    }
}

void ref_drop(struct reference *r, int channel, const bool *laggards) {
    struct channel *c = &r->channels[channel];
    for (int i = 0; i < CONSUMERS; i++) {
        if (!laggards[i] || is_broken(r, MUTANT_DROPPED_STILL_HOLDS)) continue;
        c->dropped[i] = true;
        r->consumers_dropped++;
    }
}

/* A consumer may come back to whatever is not above all that it streamed. */
static bool may_come_back(const struct reference *r, int item, int consumer) {
    const struct channel *c = &r->channels[r->items[item].channel];
    if (c->pins_below[consumer] > r->items[item].at.step) return false;
    for (int i = 0; i < r->item_count; i++) {
        if (r->items[i].channel != r->items[item].channel || !r->items[i].streamed_by[consumer]) continue;
        if (r->items[i].at.step >= r->items[item].at.step) return true;
    }
    return false;
}

static bool all_ended_its_pin(const struct reference *r, int item) {
    if (r->items[item].streamed_by_other && !is_broken(r, MUTANT_OBSERVER_LOSES_PIN)) return false;
    for (int i = 0; i < CONSUMERS; i++)
        if (may_come_back(r, item, i) && !is_broken(r, MUTANT_CONSUMER_LOSES_PIN)) return false;
    return !is_broken(r, MUTANT_WORD_KEEPS_PIN);
}

void ref_item_goes(struct reference *r, int item) {
    struct item *i = &r->items[item];
    if (!i->held) return;
    i->held = false;
    i->ended = all_ended_its_pin(r, item);
}

void ref_step_evict(struct reference *r, int channel, uint64_t step) {
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].channel == channel && r->items[i].at.step == step) ref_item_goes(r, i);
    ref_bound_pinned(r);
}

void ref_channel_trim(struct reference *r, int channel) {
    struct channel *c = &r->channels[channel];
    bool laggards[CONSUMERS];
    ref_find_laggards(r, channel, NULL, laggards);
    ref_drop(r, channel, laggards);
    uint64_t keep = c->kind == SW_TENSORS ? r->setting.keep_tensors : r->setting.keep;
    if (c->declared && c->policy.keep) keep = c->policy.keep;
    if (is_broken(r, MUTANT_KEEPS_ONE_MORE)) keep++;
    for (int i = 0; i < r->item_count; i++) {
        uint64_t step = r->items[i].at.step;
        if (r->items[i].channel != channel || !is_first_held_of_step(r, i)) continue;
        if (held_steps_from(r, channel, step + 1, NULL) < keep) return;
        if (!ref_step_is_needed(r, channel, step, NULL)) ref_step_evict(r, channel, step);
    }
}

bool ref_item_is_pinned(const struct reference *r, int item) {
    const struct item *i = &r->items[item];
    if (is_broken(r, MUTANT_PIN_HOLDS_NOTHING)) return false;
    if (i->streams && !is_broken(r, MUTANT_PIN_ENDS_IN_STREAM)) return true;
    if (i->ended || i->pin_until == REFERENCE_NEVER) return false;
    return i->pin_until >= r->now || is_broken(r, MUTANT_PIN_NEVER_ENDS);
}

uint64_t ref_pinned_bytes(const struct reference *r) {
    uint64_t bytes = 0;
    for (int i = 0; i < r->item_count; i++)
        if (!r->items[i].held && (r->items[i].streams || ref_item_is_pinned(r, i))) bytes += r->items[i].size;
    return bytes;
}

void ref_bound_pinned(struct reference *r) {
    if (is_broken(r, MUTANT_PINNED_WITHOUT_LIMIT)) return;
    while (ref_pinned_bytes(r) > r->setting.pinned_bytes) {
        int oldest = NONE;
        for (int i = 0; i < r->item_count; i++) {
            const struct item *item = &r->items[i];
            if (item->held || item->streams || !ref_item_is_pinned(r, i)) continue;
            if (oldest == NONE || item->pin_until < r->items[oldest].pin_until) oldest = i;
        }
        if (oldest == NONE) return;
        r->items[oldest].pin_until = REFERENCE_NEVER;
    }
}

const char *ref_consumers_as_json(const bool *consumers, char *text) {
    strcpy(text, "[");
    for (int i = 0; i < CONSUMERS; i++) {
        if (!consumers[i]) continue;
        if (text[1]) strcat(text, ",");
        strcat(strcat(strcat(text, "\""), consumer_names[i]), "\"");
    }
    return strcat(text, "]");
}

sw_reason ref_resolve_stage(const struct reference *r, const struct operation *o, uint32_t *ret_stage,
                            struct reply *refusal) {
    *ret_stage = o->has_stage ? o->stage : OWN_STAGE;
    if (o->has_stage) return SW_REASON_NONE;
    uint32_t found[8] = {0};
    int count = 0;
    for (uint32_t stage = 0; stage < 8; stage++)
        if (ref_channel_find(r, stage, o->group, o->name, o->kind) != NONE) found[count++] = stage;
    if (count) *ret_stage = found[0];
    if (count < 2 || is_broken(r, MUTANT_FIRST_STAGE_ANSWERS)) return SW_REASON_NONE;
    *refusal = reply_refused(SW_REASON_AMBIGUOUS_STAGE, "stages=[%u,%u]", found[0], found[1]);
    return SW_REASON_AMBIGUOUS_STAGE;
}
