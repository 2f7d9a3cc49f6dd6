#include "tests/model/reference_state.h"

static bool is_same_room(const struct meeting *a, const struct meeting *b) {
    return a->generation == b->generation && a->group == b->group && a->name == b->name;
}

static int meeting_find(const struct reference *r, const struct meeting *like) {
    for (int i = 0; i < r->meeting_count; i++) {
        const struct meeting *m = &r->meetings[i];
        if (!m->over && is_same_room(m, like) && is_same(m->at, like->at)) return i;
    }
    return NONE;
}

/* Something at or above it was let go, or would have been. */
static bool is_below_floor(const struct reference *r, const struct meeting *like) {
    for (int i = 0; i < r->floor_count; i++)
        if (is_same_room(&r->floors[i], like) && is_before(like->at, r->floors[i].at)) return true;
    return false;
}

static int lowest_of(const struct reference *r, const struct meeting *room, uint32_t *ret_count) {
    int lowest = NONE;
    *ret_count = 0;
    for (int i = 0; i < r->meeting_count; i++) {
        const struct meeting *m = &r->meetings[i];
        if (m->over || !is_same_room(m, room)) continue;
        if (lowest == NONE || is_before(m->at, r->meetings[lowest].at)) lowest = i;
        ++*ret_count;
    }
    return lowest;
}

/* The newest of a room are kept. */
static void trim_room(struct reference *r, const struct meeting *room) {
    uint32_t count;
    int lowest = lowest_of(r, room, &count);
    while (count > r->setting.keep && !is_broken(r, MUTANT_MEETINGS_STAY)) {
        r->meetings[lowest].over = r->meetings[lowest].evicted = true;
        lowest = lowest_of(r, room, &count);
        r->floors[r->floor_count++] = r->meetings[lowest];
    }
}

/* It would be the first to go. */
static bool is_below_the_newest(struct reference *r, const struct meeting *like) {
    uint32_t count;
    int lowest = lowest_of(r, like, &count);
    if (count < r->setting.keep || !is_before(like->at, r->meetings[lowest].at)) return false;
    if (is_broken(r, MUTANT_MEETINGS_STAY)) return false;
    r->floors[r->floor_count++] = r->meetings[lowest];
    return true;
}

static bool is_same_word(const struct word *a, const struct word *b) {
    return a->present == b->present && (!a->present || a->value == b->value);
}

static uint32_t owners_of(const struct meeting *m) {
    uint32_t owners = 0;
    for (uint32_t i = 0; i < m->stage_count; i++) owners += m->words[i].present;
    return owners;
}

static bool all_have_spoken(const struct meeting *m) {
    for (uint32_t i = 0; i < m->stage_count; i++)
        if (!m->words[i].spoken) return false;
    return true;
}

uint64_t ref_meeting_bytes(const struct reference *r, int meeting) {
    const struct meeting *m = &r->meetings[meeting];
    if (is_broken(r, MUTANT_VALUE_IS_FREE)) return 0;
    bool over = m->over || (m->generation && m->generation < r->generation);
    return over || m->value_gone || owners_of(m) != 1 ? 0 : m->value_size;
}

static struct reply refuse_word(const struct reference *r, const struct operation *o,
                                const struct meeting *like, const struct meeting *m) {
    const struct word *said = m && m->words[o->stage].spoken ? &m->words[o->stage] : NULL;
    struct word word = {.present = o->present, .value = o->value};
    if (o->other_run) return reply_refused(SW_REASON_RUN_MISMATCH, "%s", "");
    if (like->generation < r->generation)
        return reply_refused(SW_REASON_SUPERSEDED, "generation=%llu", (unsigned long long)r->generation);
    if (!m && is_below_floor(r, like)) return reply_refused(SW_REASON_EVICTED, "%s", "");
    if (o->present && o->size > r->setting.metrics_bytes) return reply_refused(SW_REASON_TOO_LARGE, "%s", "");
    if (m && m->stage_count != o->stage_count) return reply_refused(SW_REASON_CONFLICT, "%s", "");
    if (r->draining && !said) return reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    if (said && !is_same_word(said, &word) && !is_broken(r, MUTANT_WORD_MAY_CHANGE))
        return reply_refused(SW_REASON_CONFLICT, "%s", "");
    return reply_open();
}

/* False where the value finds no room. */
static bool speak(struct reference *r, int meeting, const struct operation *o) {
    struct meeting *m = &r->meetings[meeting];
    bool ignored[CONSUMERS] = {false};
    if (m->words[o->stage].spoken && !is_broken(r, MUTANT_WORD_MAY_CHANGE)) return true;
    if (o->present && owners_of(m) == 0) {
        if (!ref_make_room(r, SW_METRICS, NONE, 0, o->size, ignored)) return false;
        m->value_size = o->size;
    }
    m->words[o->stage] = (struct word){.spoken = true, .present = o->present, .value = o->value};
    if (all_have_spoken(m)) m->order = ++r->orders;
    return true;
}

struct reply ref_exchange(struct reference *r, const struct operation *o) {
    struct meeting like = {
        .generation = o->generation ? o->generation : r->generation,
        .group = o->group,
        .name = o->name,
        .at = {o->step, o->call},
        .stage_count = o->stage_count,
    };
    int found = meeting_find(r, &like);
    struct reply refusal = refuse_word(r, o, &like, found != NONE ? &r->meetings[found] : NULL);
    if (!refusal.open) return refusal;
    bool fresh = found == NONE;
    if (fresh && is_below_the_newest(r, &like)) return reply_refused(SW_REASON_EVICTED, "%s", "");
    if (fresh) r->meetings[found = r->meeting_count++] = like;
    if (!speak(r, found, o)) {
        r->meeting_count -= fresh;
        return reply_refused(SW_REASON_LIMIT, "limit=metrics_bytes");
    }
    trim_room(r, &like);
    struct wait wait = {.operation = o, .generation = like.generation, .meeting = found};
    return ref_wait_or_answer(r, wait);
}

static struct reply answer_met(const struct reference *r, const struct meeting *m) {
    struct reply reply = reply_ok("generation %llu %s %llu/%u owners [", (unsigned long long)m->generation,
                                  channel_names[m->name], (unsigned long long)m->at.step, m->at.call);
    uint32_t owners = 0, value = 0;
    for (uint32_t i = 0; i < m->stage_count; i++) {
        if (!m->words[i].present) continue;
        reply_add(&reply, owners ? ",%u" : "%u", i);
        if (!owners++) value = m->words[i].value;
    }
    reply_add(&reply, "]");
    if (owners == 1 || (owners && is_broken(r, MUTANT_TWO_OWNERS))) reply_add(&reply, " value %u", value);
    return reply;
}

/* Why a stage can't be expected to speak any more, as the rows of a pull's table have it; 0 if it can. */
static sw_reason muteness(struct reference *r, const struct meeting *m, uint32_t stage,
                          const char **ret_message) {
    int channel = ref_channel_find(r, stage, m->group, m->name, SW_OBJECT);
    int failure = channel != NONE ? ref_channel_item_at(r, channel, m->at) : NONE;
    const struct stage *s = ref_stage_get(r, stage, m->group);
    *ret_message = NULL;
    if (failure != NONE && ref_item_is_known(r, failure)) {
        *ret_message = r->items[failure].held ? messages[r->items[failure].value] : "";
        return SW_REASON_STEP_FAILED;
    }
    struct closing closing = channel != NONE ? r->channels[channel].closing : s->closing;
    if (closing.reason == SW_CLOSE_FINISHED) return SW_REASON_FINISHED;
    if (closing.reason) {
        *ret_message = messages[closing.message];
        return SW_REASON_PUBLISHER_ABORTED;
    }
    return s->lost ? SW_REASON_PUBLISHER_LOST : SW_REASON_NONE;
}

static int row_of(sw_reason reason) {
    static const sw_reason rows[] = {SW_REASON_STEP_FAILED, SW_REASON_FINISHED, SW_REASON_PUBLISHER_ABORTED,
                                     SW_REASON_PUBLISHER_LOST, SW_REASON_NONE};
    int row = 0;
    while (rows[row] != reason) row++;
    return row;
}

/* One who is silent and can't be expected to speak ends it: the first row that applies to any, and whom it
 * applies to. */
static struct reply answer_mute(struct reference *r, const struct meeting *m) {
    sw_reason reason = SW_REASON_NONE;
    const char *message = NULL, *its;
    for (uint32_t i = 0; i < m->stage_count; i++) {
        sw_reason other = m->words[i].spoken ? SW_REASON_NONE : muteness(r, m, i, &its);
        if (row_of(other) >= row_of(reason)) continue;
        reason = other;
        message = its;
    }
    if (!reason) return reply_open();
    struct reply reply = reply_refused(reason, "%s", "");
    if (message) reply_add(&reply, "message=%s", message);
    const char *separator = "stages=[";
    for (uint32_t i = 0; i < m->stage_count; i++) {
        if (m->words[i].spoken || muteness(r, m, i, &its) != reason) continue;
        reply_add(&reply, "%s%u", separator, i);
        separator = ",";
    }
    reply_add(&reply, "]");
    return reply;
}

struct reply ref_word_answer(struct reference *r, const struct wait *wait) {
    const struct meeting *m = &r->meetings[wait->meeting];
    if (m->generation && m->generation < r->generation)
        return reply_refused(SW_REASON_SUPERSEDED, "generation=%llu", (unsigned long long)r->generation);
    if (m->conflicts) return reply_refused(SW_REASON_CONFLICT, "%s", "");
    if (m->evicted || (m->value_gone && owners_of(m) == 1 && all_have_spoken(m)))
        return reply_refused(SW_REASON_EVICTED, "%s", "");
    if (all_have_spoken(m)) return answer_met(r, m);
    if (r->generation && m->generation == r->generation && !is_broken(r, MUTANT_MEETING_OUTWAITS)) {
        struct reply reply = answer_mute(r, m);
        if (!reply.open) return reply;
    }
    if (r->draining && !is_broken(r, MUTANT_DRAIN_HANGS))
        return reply_refused(SW_REASON_SHUTTING_DOWN, "%s", "");
    return reply_open();
}

void ref_add_silent(const struct reference *r, const struct wait *wait, struct reply *reply) {
    const struct meeting *m = &r->meetings[wait->meeting];
    const char *separator = "stages=[";
    for (uint32_t i = 0; i < m->stage_count; i++) {
        if (m->words[i].spoken) continue;
        reply_add(reply, "%s%u", separator, i);
        separator = ",";
    }
    reply_add(reply, "]");
}

static bool agree(const struct meeting *a, const struct meeting *b) {
    for (int i = 0; i < WORDS_MAX; i++)
        if (a->words[i].spoken && b->words[i].spoken && !is_same_word(&a->words[i], &b->words[i]))
            return false;
    return a->stage_count == b->stage_count;
}

/* The same meeting, once without a generation and once by its number. */
static void join(struct reference *r, int from, int into) {
    struct meeting *m = &r->meetings[into], *old = &r->meetings[from];
    old->over = true;
    old->conflicts = !agree(old, m);
    if (old->conflicts) return;
    if (owners_of(m) == 0) m->value_size = old->value_size;
    for (int i = 0; i < WORDS_MAX; i++)
        if (old->words[i].spoken) m->words[i] = old->words[i];
    for (int i = 0; i < r->wait_count; i++)
        if (r->waits[i].operation->type == OP_EXCHANGE && r->waits[i].meeting == from)
            r->waits[i].meeting = into;
    if (!m->order && all_have_spoken(m)) m->order = ++r->orders;
}

void ref_adopt_meetings(struct reference *r) {
    if (is_broken(r, MUTANT_FIRST_WORDS_LOST)) return;
    for (int i = 0; i < r->floor_count; i++)
        if (!r->floors[i].generation) r->floors[i].generation = r->generation;
    for (int i = 0; i < r->meeting_count; i++) {
        struct meeting like = r->meetings[i];
        if (like.generation) continue;
        like.generation = r->generation;
        int there = meeting_find(r, &like);
        r->meetings[i].generation = r->generation;
        if (there != NONE && !like.over) join(r, i, there);
    }
    for (int i = 0; i < r->meeting_count; i++)
        if (r->meetings[i].generation == r->generation) trim_room(r, &r->meetings[i]);
}
