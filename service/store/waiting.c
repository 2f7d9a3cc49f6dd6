/* The pulls that wait, by channel and generation, so that a publish looks at those of its channel only, and
 * of them at those that it answers: they are in order of step and call. */
#include <string.h>

#include "service/store/internal.h"

static uint64_t hash_of(const struct store *store, const struct channel_key *key, uint64_t generation) {
    return hash_number(channel_hash(store, key), generation);
}

struct store_waiting *waiting_find(const struct store *store, const struct channel_key *key,
                                   uint64_t generation) {
    struct table_node *node = table_find(&store->waiting_by_key, hash_of(store, key, generation));
    for (; node; node = table_same(node)) {
        struct store_waiting *w = container_of(node, struct store_waiting, by_key);
        if (w->generation == generation && w->stage->number == key->stage && w->stage->group == key->group &&
            w->kind == key->kind && strcmp(w->name, key->name) == 0)
            return w;
    }
    return NULL;
}

static struct channel_key key_of(const struct store_waiting *waiting) {
    return (struct channel_key){waiting->stage->number, waiting->stage->group, waiting->kind, waiting->name};
}

/* Its channel, if there is one by now. */
static struct store_channel *channel_of(const struct store *store, const struct store_waiting *waiting) {
    if (waiting->generation == 0 || waiting->generation != store->generation) return NULL;
    struct channel_key key = key_of(waiting);
    return channel_find(store, &key);
}

static struct store_waiting *create(struct store *store, const struct channel_key *key, uint64_t generation) {
    struct store_stage *stage = stage_get(store, key->stage, key->group);
    if (!stage) return NULL;
    size_t name_size = strlen(key->name) + 1;
    struct store_waiting *w = store_get(store, sizeof *w + name_size);
    if (!w) {
        stage_put(store, stage);
        return NULL;
    }
    *w = (struct store_waiting){.generation = generation, .stage = stage, .kind = key->kind};
    memcpy(w->name, key->name, name_size);
    list_init(&w->latest);
    list_append(&store->waiting, &w->in_store);
    list_append(&stage->waiting, &w->in_stage);
    table_add(&store->waiting_by_key, &w->by_key, hash_of(store, key, generation));
    struct store_channel *channel = channel_of(store, w);
    if (channel) channel->waiting = w;
    return w;
}

static void free_if_empty(struct store *store, struct store_waiting *w) {
    if (w->count > 0) return;
    struct store_channel *channel = channel_of(store, w);
    if (channel) channel->waiting = NULL;
    struct store_stage *stage = w->stage;
    table_remove(&store->waiting_by_key, &w->by_key);
    list_remove(&w->in_store);
    list_remove(&w->in_stage);
    store_put(store, w);
    stage_put(store, stage);
}

static void enter(struct store_waiting *w, struct store_pull *pull) {
    const struct pull_request *request = pull->request;
    pull->waiting = w;
    w->count++;
    if (request->latest)
        list_append(&w->latest, &pull->link);
    else
        queue_put(&w->by_place, &pull->place, request->address.step, request->address.call);
}

static void leave(struct store_pull *pull) {
    list_remove(&pull->link);
    queue_remove(&pull->waiting->by_place, &pull->place);
    pull->waiting->count--;
    pull->waiting = NULL;
}

bool waiting_enter(struct store *store, struct store_pull *pull, const struct channel_key *key,
                   int64_t until_ms) {
    struct store_waiting *w = waiting_find(store, key, pull->generation);
    if (!w) w = create(store, key, pull->generation);
    if (!w) return false;
    enter(w, pull);
    queue_put(&store->timers, &pull->timer, (uint64_t)until_ms, TIMER_PULL);
    store->waiters++;
    return true;
}

void waiting_leave(struct store *store, struct store_pull *pull) {
    struct store_waiting *w = pull->waiting;
    leave(pull);
    queue_remove(&store->timers, &pull->timer);
    store->waiters--;
    free_if_empty(store, w);
}

/* ---- what wakes them ---- */

/* Keeps it while its pulls go. */
static void hold(struct store_waiting *w) {
    w->count++;
}

static void let_go(struct store *store, struct store_waiting *w) {
    w->count--;
    free_if_empty(store, w);
}

static struct store_pull *first_by_place(const struct store_waiting *w) {
    struct queue_node *node = queue_first(&w->by_place);
    return node ? container_of(node, struct store_pull, place) : NULL;
}

static void settle_latest(struct store *store, struct store_waiting *w) {
    while (!list_empty(&w->latest)) {
        if (!pull_settle(store, container_of(w->latest.next, struct store_pull, link))) return;
    }
}

void waiting_published(struct store *store, struct store_channel *channel, struct at at) {
    struct store_waiting *w = channel->waiting;
    struct store_pull *pull;
    hold(w);
    while ((pull = first_by_place(w)) &&
           !at_below(at, (struct at){pull->place.high, (uint32_t)pull->place.low}))
        if (!pull_settle(store, pull)) break;
    settle_latest(store, w);
    let_go(store, w);
}

void waiting_below(struct store *store, struct store_channel *channel, uint64_t step) {
    struct store_waiting *w = channel->waiting;
    struct store_pull *pull;
    if (!w) return;
    hold(w);
    while ((pull = first_by_place(w)) && pull->place.high < step)
        if (!pull_settle(store, pull)) break;
    let_go(store, w);
}

void waiting_settle(struct store *store, struct store_waiting *w) {
    struct store_pull *pull;
    hold(w);
    while ((pull = first_by_place(w)) && pull_settle(store, pull)) continue;
    settle_latest(store, w);
    let_go(store, w);
}

void waiting_settle_stage(struct store *store, struct store_stage *stage) {
    list_each_safe(node, &stage->waiting) {
        struct store_waiting *w = container_of(node, struct store_waiting, in_stage);
        if (w->generation == store->generation) waiting_settle(store, w);
    }
}

void waiting_settle_all(struct store *store) {
    list_each_safe(node, &store->waiting) {
        waiting_settle(store, container_of(node, struct store_waiting, in_store));
    }
}

/* ---- a generation begins ---- */

static void move_all(struct store_waiting *from, struct store_waiting *to) {
    while (from->count > 0) {
        struct store_pull *pull = first_by_place(from);
        if (!pull) pull = container_of(from->latest.next, struct store_pull, link);
        leave(pull);
        enter(to, pull);
    }
}

/* Those for the first generation wait for this one, with those who named it. */
static void settle_generation(struct store *store, struct store_waiting *w) {
    struct channel_key key = key_of(w);
    struct store_waiting *named = waiting_find(store, &key, store->generation);
    if (named) {
        move_all(w, named);
        free_if_empty(store, w);
        return;
    }
    table_remove(&store->waiting_by_key, &w->by_key);
    w->generation = store->generation;
    table_add(&store->waiting_by_key, &w->by_key, hash_of(store, &key, w->generation));
}

void waiting_begin(struct store *store) {
    list_each_safe(node, &store->waiting) {
        struct store_waiting *w = container_of(node, struct store_waiting, in_store);
        if (w->generation == 0)
            settle_generation(store, w);
        else if (w->generation < store->generation)
            waiting_settle(store, w);
    }
}
