/* Generations: a newer one supersedes all that the older ones left. */
#include "service/store/internal.h"

static void end_publishes(struct store *store) {
    list_each(node, &store->channels_in_order) {
        publishes_end(store, container_of(node, struct store_channel, in_order), SW_REASON_STALE_GENERATION);
    }
}

static void remove_channels(struct store *store) {
    while (!list_empty(&store->channels_in_order))
        channel_remove(store, container_of(store->channels_in_order.next, struct store_channel, in_order));
    store->channels_created = 0;
    pins_fit(store);
}

static void forget_stages(struct store *store) {
    for (struct table_node *node = table_walk(&store->stages, NULL), *next; node; node = next) {
        next = table_walk(&store->stages, node);
        struct store_stage *stage = container_of(node, struct store_stage, by_number);
        leases_supersede(store, stage);
        stage_forget(store, stage);
        stage_put(store, stage);
    }
}

void generation_begin(struct store *store, uint64_t generation) {
    bool first = store->generation == 0;
    store->generation = generation;
    end_publishes(store);
    remove_channels(store);
    forget_stages(store);
    leases_begin(store);
    waiting_begin(store);
    meetings_begin(store);
    if (!first) watches_tell_generation(store);
}

void generation_begin_first(struct store *store) {
    if (store->generation == 0) generation_begin(store, 1);
}
