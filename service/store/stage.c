#include "service/store/internal.h"

static uint64_t hash_of(const struct store *store, uint32_t number, uint32_t group) {
    return hash_number(store->hash_seed, (uint64_t)number << 32 | group);
}

struct store_stage *stage_find(const struct store *store, uint32_t number, uint32_t group) {
    for (struct table_node *node = table_find(&store->stages, hash_of(store, number, group)); node;
         node = table_same(node)) {
        struct store_stage *stage = container_of(node, struct store_stage, by_number);
        if (stage->number == number && stage->group == group) return stage;
    }
    return NULL;
}

struct store_stage *stage_get(struct store *store, uint32_t number, uint32_t group) {
    struct store_stage *stage = stage_find(store, number, group);
    if (stage) return stage;
    stage = store_get(store, sizeof *stage);
    if (!stage) return NULL;
    *stage = (struct store_stage){.number = number, .group = group};
    list_init(&stage->channels);
    list_init(&stage->waiting);
    list_init(&stage->leases);
    table_add(&store->stages, &stage->by_number, hash_of(store, number, group));
    return stage;
}

void stage_put(struct store *store, struct store_stage *stage) {
    if (!list_empty(&stage->channels) || !list_empty(&stage->waiting) || !list_empty(&stage->leases)) return;
    if (stage->holds > 0 || stage->lost || stage->closed || stage->grace.queued) return;
    table_remove(&store->stages, &stage->by_number);
    store_put(store, stage);
}

/* In store.mute while it is lost or closed. */
static void settle_mute(struct store *store, struct store_stage *stage) {
    list_remove(&stage->mute);
    if (stage->lost || stage->closed) list_append(&store->mute, &stage->mute);
}

void stage_lose(struct store *store, struct store_stage *stage) {
    stage->lost = true;
    settle_mute(store, stage);
    watches_tell_loss(store, stage);
    waiting_settle_stage(store, stage);
    meetings_settle_group(store, stage->group);
}

void stage_find_again(struct store *store, struct store_stage *stage) {
    queue_remove(&store->timers, &stage->grace);
    stage->lost = false;
    settle_mute(store, stage);
}

void stage_close(struct store *store, struct store_stage *stage, struct closing *closing) {
    stage->closed = closing_ref(closing);
    settle_mute(store, stage);
}

void stage_forget(struct store *store, struct store_stage *stage) {
    closing_unref(store, stage->closed);
    stage->closed = NULL;
    stage_find_again(store, stage);
}

bool stage_table_full(const struct store *store) {
    return store->stages.count >= (size_t)store->options.max_channels + store->options.max_leases;
}
