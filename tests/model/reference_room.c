#include "tests/model/reference_state.h"

static bool shares_budget(const struct reference *r, int channel, sw_item_kind kind) {
    const struct channel *c = &r->channels[channel];
    return c->generation == r->generation && (c->kind == SW_TENSORS) == (kind == SW_TENSORS);
}

uint64_t ref_used_bytes(const struct reference *r, sw_item_kind kind) {
    uint64_t used = 0;
    for (int i = 0; i < r->item_count; i++)
        if (r->items[i].held && shares_budget(r, r->items[i].channel, kind)) used += r->items[i].size;
    for (int i = 0; i < r->meeting_count && kind != SW_TENSORS; i++) used += ref_meeting_bytes(r, i);
    for (int i = 0; i < r->publish_count; i++) {
        const struct publish *p = &r->publishes[i];
        if (p->open && !p->known && kind == SW_TENSORS && !is_broken(r, MUTANT_OPEN_RESERVES_NOTHING))
            used += p->size;
    }
    return used;
}

/* A step, named by its first item, or the value of a meeting at which all have spoken. */
struct candidate {
    int order, item, meeting;
};

static bool is_listed(const struct reference *r, const struct candidate *list, int count, int item) {
    const struct item *wanted = &r->items[item];
    for (int i = 0; i < count; i++) {
        const struct item *listed = &r->items[list[i].item];
        if (listed->channel == wanted->channel && listed->at.step == wanted->at.step) return true;
    }
    return false;
}

static void sort(struct candidate *list, int count, bool newest_first) {
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && (list[k].order < list[k - 1].order) != newest_first; k--) {
            struct candidate other = list[k];
            list[k] = list[k - 1];
            list[k - 1] = other;
        }
}

static int list_candidates(const struct reference *r, sw_item_kind kind, struct candidate *ret) {
    int count = 0;
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (!item->held || !shares_budget(r, item->channel, kind) || is_listed(r, ret, count, i)) continue;
        ret[count++] = (struct candidate){item->order, i, NONE};
    }
    for (int i = 0; i < r->meeting_count && kind != SW_TENSORS; i++)
        if (r->meetings[i].order && ref_meeting_bytes(r, i))
            ret[count++] = (struct candidate){r->meetings[i].order, NONE, i};
    sort(ret, count, is_broken(r, MUTANT_NEWEST_FIRST));
    return count;
}

static uint64_t candidate_bytes(const struct reference *r, const struct candidate *candidate) {
    if (candidate->meeting != NONE) return ref_meeting_bytes(r, candidate->meeting);
    const struct item *first = &r->items[candidate->item];
    uint64_t bytes = 0;
    for (int i = 0; i < r->item_count; i++) {
        const struct item *item = &r->items[i];
        if (item->held && item->channel == first->channel && item->at.step == first->at.step)
            bytes += item->size;
    }
    return bytes;
}

static void let_go(struct reference *r, const struct candidate *candidate) {
    if (candidate->meeting != NONE)
        r->meetings[candidate->meeting].value_gone = true;
    else
        ref_step_evict(r, r->items[candidate->item].channel, r->items[candidate->item].at.step);
}

/* Whether an expected consumer that isn't dropped with this very publish still needs it; who it is, is added
 * to the holders. */
static bool is_held_up(const struct reference *r, const struct candidate *candidate, int asking,
                       const bool *laggards, bool *holders) {
    if (candidate->meeting != NONE) return false;
    const struct item *item = &r->items[candidate->item];
    const struct channel *c = &r->channels[item->channel];
    const bool *but = item->channel == asking ? laggards : NULL;
    if (!ref_step_is_needed(r, item->channel, item->at.step, but)) return false;
    for (int i = 0; i < CONSUMERS; i++)
        holders[i] |= ref_is_expected(c, i) && !(but && but[i]) && c->below[i] <= item->at.step;
    return true;
}

bool ref_make_room(struct reference *r, sw_item_kind kind, int channel, uint64_t step, uint64_t size,
                   bool *ret_holders) {
    struct candidate list[2 * OPERATIONS_MAX], going[2 * OPERATIONS_MAX];
    uint64_t budget = kind == SW_TENSORS ? r->setting.store_bytes : r->setting.metrics_bytes;
    uint64_t used = ref_used_bytes(r, kind);
    int gone = 0, count = used + size > budget ? list_candidates(r, kind, list) : 0;
    bool laggards[CONSUMERS] = {false};
    if (channel != NONE) ref_find_laggards(r, channel, &step, laggards);
    for (int k = 0; k < count && used + size > budget; k++) {
        bool held_up = is_held_up(r, &list[k], channel, laggards, ret_holders);
        if (held_up && !is_broken(r, MUTANT_NEEDED_IS_EVICTED)) continue;
        used -= candidate_bytes(r, &list[k]);
        going[gone++] = list[k];
        if (is_broken(r, MUTANT_REFUSED_HAS_EVICTED)) let_go(r, &list[k]);
    }
    if (used + size > budget) return false;
    if (channel != NONE) ref_drop(r, channel, laggards);
    for (int k = 0; k < gone; k++) let_go(r, &going[k]);
    return true;
}
