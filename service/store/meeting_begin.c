/* What a generation that begins does to meetings: older ones are over; words that named no generation count
 * in the first. */
#include "service/store/meeting.h"

static void let_all_go(struct store *store, struct meetings *m) {
    while (m->count > 0) meeting_let_go(store, m->kept[m->count - 1], SW_REASON_SUPERSEDED);
    m->has_floor = false;
    meetings_free_if_empty(store, m);
}

static void resolve_words(struct store *store, struct store_meeting *meeting) {
    list_each(node, &meeting->waiting) {
        container_of(node, struct store_word, link)->address.generation = store->generation;
    }
}

static void move_waiting(struct store *store, struct store_meeting *from, struct store_meeting *into) {
    while (!list_empty(&from->waiting)) {
        struct list *node = from->waiting.next;
        list_remove(node);
        if (list_empty(&into->waiting)) list_append(&store->waiting_meetings, &into->in_waiting);
        list_append(&into->waiting, node);
        container_of(node, struct store_word, link)->meeting = into;
    }
    list_remove(&from->in_waiting);
}

static bool agree(const struct store_meeting *a, const struct store_meeting *b) {
    if (a->stage_count != b->stage_count) return false;
    for (struct table_node *node = table_walk(&a->spoken, NULL); node; node = table_walk(&a->spoken, node)) {
        const struct spoken *word = container_of(node, struct spoken, by_stage);
        const struct spoken *other = meeting_word(b, word->stage);
        if (!other) continue;
        if (word->present != other->present || !digest_equal(word->digest, other->digest)) return false;
    }
    return true;
}

static void move_spoken(struct store *store, struct store_meeting *from, struct store_meeting *into) {
    into->value_gone |= from->value_gone;
    for (struct table_node *node; (node = table_walk(&from->spoken, NULL));) {
        struct spoken *word = container_of(node, struct spoken, by_stage);
        table_remove(&from->spoken, node);
        if (meeting_word(into, word->stage))
            store_put(store, word);
        else
            meeting_speak(store, into, word, word->present ? meeting_take_value(from) : NULL);
    }
}

/* Where both have the same meeting, its words come together; NONE, or why they can't. */
static sw_reason join(struct store *store, struct store_meeting *meeting, struct store_meeting *named) {
    if (!agree(meeting, named)) return SW_REASON_CONFLICT;
    if (!meeting_reserve_owners(store, named, meeting->owner_count)) return SW_REASON_LIMIT;
    move_spoken(store, meeting, named);
    move_waiting(store, meeting, named);
    meeting_drop(store, meeting);
    meeting_settle(store, named);
    return SW_REASON_NONE;
}

static sw_reason move(struct store *store, struct store_meeting *meeting, struct meetings *into) {
    if (!meetings_reserve(store, into)) return SW_REASON_LIMIT;
    meetings_take(meeting);
    meetings_add(into, meeting);
    return SW_REASON_NONE;
}

static void merge(struct store *store, struct meetings *from, struct meetings *into) {
    while (from->count > 0) {
        struct store_meeting *meeting = from->kept[from->count - 1];
        struct store_meeting *named = meeting_find(into, meeting->at);
        resolve_words(store, meeting);
        sw_reason refused = named ? join(store, meeting, named) : move(store, meeting, into);
        if (refused != SW_REASON_NONE) meeting_let_go(store, meeting, refused);
    }
    if (from->has_floor && (!into->has_floor || at_below(into->floor, from->floor)))
        into->floor = from->floor;
    into->has_floor |= from->has_floor;
    from->has_floor = false;
    meetings_free_if_empty(store, from);
    meetings_trim(store, into);
}

static void settle_on_current(struct store *store, struct meetings *m) {
    for (size_t i = 0; i < m->count; i++) resolve_words(store, m->kept[i]);
    meetings_rename(store, m, store->generation);
}

void meetings_begin(struct store *store) {
    list_each_safe(node, &store->meetings_in_order) {
        struct meetings *m = container_of(node, struct meetings, in_store);
        if (m->generation != 0) {
            if (m->generation < store->generation) let_all_go(store, m);
            continue;
        }
        struct meetings *named = meetings_find(store, store->generation, m->group, m->name);
        if (named)
            merge(store, m, named);
        else
            settle_on_current(store, m);
    }
}

void meetings_destroy(struct store *store) {
    while (!list_empty(&store->meetings_in_order))
        let_all_go(store, container_of(store->meetings_in_order.next, struct meetings, in_store));
}
