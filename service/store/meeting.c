#include "service/store/meeting.h"

#include <string.h>

/* ---- those of one (generation, group, channel) ---- */

static uint64_t hash_of(const struct store *store, uint64_t generation, uint32_t group, const char *name) {
    return hash_text(hash_number(hash_number(store->hash_seed, generation), group), name);
}

struct meetings *meetings_find(const struct store *store, uint64_t generation, uint32_t group,
                               const char *name) {
    struct table_node *node = table_find(&store->meetings, hash_of(store, generation, group, name));
    for (; node; node = table_same(node)) {
        struct meetings *m = container_of(node, struct meetings, by_key);
        if (m->generation == generation && m->group == group && strcmp(m->name, name) == 0) return m;
    }
    return NULL;
}

struct meetings *meetings_create(struct store *store, uint64_t generation, uint32_t group, const char *name) {
    size_t name_size = strlen(name) + 1;
    struct meetings *m = store_get(store, sizeof *m + name_size);
    if (!m) return NULL;
    *m = (struct meetings){.generation = generation, .group = group};
    memcpy(m->name, name, name_size);
    table_add(&store->meetings, &m->by_key, hash_of(store, generation, group, name));
    list_append(&store->meetings_in_order, &m->in_store);
    return m;
}

void meetings_rename(struct store *store, struct meetings *m, uint64_t generation) {
    table_remove(&store->meetings, &m->by_key);
    m->generation = generation;
    table_add(&store->meetings, &m->by_key, hash_of(store, generation, m->group, m->name));
}

void meetings_free_if_empty(struct store *store, struct meetings *m) {
    if (m->count > 0 || m->has_floor) return;
    table_remove(&store->meetings, &m->by_key);
    list_remove(&m->in_store);
    store_put(store, m->kept);
    store_put(store, m);
}

/* ---- one meeting ---- */

/* The index of the first kept one that is not below `at`. */
static size_t lower_bound(const struct meetings *m, struct at at) {
    size_t low = 0, high = m->count;
    if (high > 0 && at_below(m->kept[high - 1]->at, at)) return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at_below(m->kept[middle]->at, at))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct store_meeting *meeting_find(const struct meetings *m, struct at at) {
    size_t i = lower_bound(m, at);
    return i < m->count && at_equal(m->kept[i]->at, at) ? m->kept[i] : NULL;
}

bool meetings_reserve(struct store *store, struct meetings *m) {
    if (m->count < m->room) return true;
    size_t room = m->room ? m->room * 2 : 4;
    struct store_meeting **kept =
        allocator_resize(store->world.allocator, m->kept, room * sizeof(struct store_meeting *));
    if (!kept) return false;
    m->kept = kept;
    m->room = room;
    return true;
}

void meetings_add(struct meetings *m, struct store_meeting *meeting) {
    size_t i = lower_bound(m, meeting->at);
    memmove(&m->kept[i + 1], &m->kept[i], (m->count - i) * sizeof(struct store_meeting *));
    m->kept[i] = meeting;
    m->count++;
    meeting->of = m;
}

void meetings_take(struct store_meeting *meeting) {
    struct meetings *m = meeting->of;
    size_t i = lower_bound(m, meeting->at);
    m->count--;
    memmove(&m->kept[i], &m->kept[i + 1], (m->count - i) * sizeof(struct store_meeting *));
    meeting->of = NULL;
}

static void release_value(struct store *store, struct store_meeting *meeting) {
    if (!meeting->value) return;
    giver_settle(&meeting->giver, 0, 0);
    store->rest.used -= sw_buffer_size(meeting->value);
    sw_buffer_unref(meeting->value);
    meeting->value = NULL;
}

static void give_value(struct store *store, struct giver *giver) {
    struct store_meeting *meeting = container_of(giver, struct store_meeting, giver);
    release_value(store, meeting);
    meeting->value_gone = true;
}

struct store_meeting *meeting_create(struct store *store, struct meetings *m, struct at at,
                                     uint32_t stage_count) {
    if (!meetings_reserve(store, m)) return NULL;
    struct store_meeting *meeting = store_get(store, sizeof *meeting);
    if (!meeting) return NULL;
    *meeting = (struct store_meeting){.references = 1, .at = at, .stage_count = stage_count};
    table_init(&meeting->spoken, store->world.allocator);
    giver_init(&meeting->giver, &store->rest, give_value);
    list_init(&meeting->waiting);
    meetings_add(m, meeting);
    return meeting;
}

void meeting_drop(struct store *store, struct store_meeting *meeting) {
    meetings_take(meeting);
    release_value(store, meeting);
    meeting_unref(store, meeting);
}

void meeting_unref(struct store *store, struct store_meeting *meeting) {
    if (--meeting->references > 0) return;
    for (struct table_node *node = table_walk(&meeting->spoken, NULL), *next; node; node = next) {
        next = table_walk(&meeting->spoken, node);
        store_put(store, container_of(node, struct spoken, by_stage));
    }
    table_destroy(&meeting->spoken);
    store_put(store, meeting->owners);
    store_put(store, meeting);
}

struct spoken *meeting_word(const struct store_meeting *meeting, uint32_t stage) {
    struct table_node *node = table_find(&meeting->spoken, hash_number(0, stage));
    for (; node; node = table_same(node)) {
        struct spoken *word = container_of(node, struct spoken, by_stage);
        if (word->stage == stage) return word;
    }
    return NULL;
}

bool meeting_reserve_owners(struct store *store, struct store_meeting *meeting, uint32_t more) {
    uint32_t room = meeting->owner_room ? meeting->owner_room : 1;
    while (room < meeting->owner_count + more) room *= 2;
    if (room == meeting->owner_room) return true;
    uint32_t *owners = allocator_resize(store->world.allocator, meeting->owners, room * sizeof *owners);
    if (!owners) return false;
    meeting->owners = owners;
    meeting->owner_room = room;
    return true;
}

static void add_owner(struct store_meeting *meeting, uint32_t stage) {
    uint32_t i = meeting->owner_count++;
    for (; i > 0 && meeting->owners[i - 1] > stage; i--) meeting->owners[i] = meeting->owners[i - 1];
    meeting->owners[i] = stage;
}

sw_buffer *meeting_take_value(struct store_meeting *meeting) {
    sw_buffer *value = meeting->value;
    giver_settle(&meeting->giver, 0, 0);
    meeting->value = NULL;
    return value;
}

/* Nobody gets a value where several have one. */
static void set_value(struct store *store, struct store_meeting *meeting, sw_buffer *value) {
    release_value(store, meeting);
    meeting->value = value;
    if (meeting->owner_count > 1) release_value(store, meeting);
}

void meeting_speak(struct store *store, struct store_meeting *meeting, struct spoken *word,
                   sw_buffer *value) {
    table_add(&meeting->spoken, &word->by_stage, hash_number(0, word->stage));
    if (word->present) {
        add_owner(meeting, word->stage);
        set_value(store, meeting, value);
    }
    if (meeting_is_complete(meeting) && meeting->value)
        giver_settle(&meeting->giver, sw_buffer_size(meeting->value), ++store->sequence);
}
