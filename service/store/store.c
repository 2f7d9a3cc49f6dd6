/* The store as a whole: options, making and ending it, time, drain. Start with store.h for what it does and
 * internal.h for what it is. */
#include "service/store/store.h"

#include <string.h>

#include "service/store/internal.h"

struct store_options store_options_default(void) {
    return (struct store_options){
        .keep_steps = 1024,
        .keep_tensor_steps = 1,
        .store_bytes = 2ull << 30,
        .metrics_bytes = 256ull << 20,
        .publisher_grace_ms = 30000,
        .drain_grace_ms = 20000,
        .max_wait_ms = 600000,
        .pin_ms = 30000,
        .max_waiters = LIMIT_WAITERS,
        .max_watches = LIMIT_WATCHERS,
        .max_channels = LIMIT_CHANNELS,
        .max_consumers = LIMIT_CONSUMERS,
        .max_leases = LIMIT_LEASES,
        .max_publishes = LIMIT_OPEN_PUBLISHES,
    };
}

static void init_tables(struct store *store) {
    struct table *tables[] = {&store->channels, &store->channels_by_name, &store->stages,
                              &store->pins,     &store->waiting_by_key,   &store->meetings};
    struct list *lists[] = {
        &store->channels_in_order, &store->mute,    &store->waiting, &store->waiting_meetings,
        &store->meetings_in_order, &store->pending, &store->watches};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) table_init(tables[i], store->world.allocator);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) list_init(lists[i]);
}

static void destroy_tables(struct store *store) {
    table_destroy(&store->channels);
    table_destroy(&store->channels_by_name);
    table_destroy(&store->stages);
    table_destroy(&store->pins);
    table_destroy(&store->waiting_by_key);
    table_destroy(&store->meetings);
}

struct store *store_create(const struct store_options *options, const struct store_world *world) {
    size_t run_size = strlen(options->run_id) + 1;
    struct store *store = allocator_get(world->allocator, sizeof *store + run_size);
    if (!store) return NULL;
    *store = (struct store){.options = *options, .world = *world, .generation = options->generation};
    store->options.run_id = memcpy((char *)(store + 1), options->run_id, run_size);
    if (options->keep_steps == 0) store->options.keep_steps = 1;
    if (options->keep_tensor_steps == 0) store->options.keep_tensor_steps = 1;
    if (options->pinned_bytes == 0) store->options.pinned_bytes = options->store_bytes;
    store->hash_seed = store_random(store);
    store->sequence = 1; /* 0 is never */
    budget_init(&store->tensors, "--store-bytes", options->store_bytes);
    budget_init(&store->rest, "--metrics-bytes", options->metrics_bytes);
    init_tables(store);
    return store;
}

static void end_pins(struct store *store) {
    for (struct table_node *node; (node = table_walk(&store->pins, NULL));)
        pins_due(store, container_of(node, struct item, by_pin));
}

static void destroy_stages(struct store *store) {
    for (struct table_node *node = table_walk(&store->stages, NULL), *next; node; node = next) {
        next = table_walk(&store->stages, node);
        struct store_stage *stage = container_of(node, struct store_stage, by_number);
        stage_forget(store, stage);
        stage_put(store, stage);
    }
}

void store_destroy(struct store *store) {
    if (!store) return;
    while (!list_empty(&store->channels_in_order))
        channel_remove(store, container_of(store->channels_in_order.next, struct store_channel, in_order));
    meetings_destroy(store);
    end_pins(store);
    destroy_stages(store);
    destroy_tables(store);
    allocator_put(store->world.allocator, store);
}

bool store_is_other_run(const struct store *store, const char *run_id) {
    return run_id && run_id[0] != '\0' && strcmp(run_id, store->options.run_id) != 0;
}

uint64_t store_generation(const struct store *store) {
    return store->generation;
}

const struct store_options *store_options_of(const struct store *store) {
    return &store->options;
}

uint64_t store_dropped_consumers(const struct store *store) {
    return store->consumers_dropped;
}

/* ---- time ---- */

int64_t store_due_ms(const struct store *store) {
    const struct queue_node *first = queue_first(&store->timers);
    return first ? (int64_t)first->high : CLOCK_NEVER;
}

static void run_timer(struct store *store, struct queue_node *node, enum timer_kind kind) {
    switch (kind) {
    case TIMER_GRACE:
        lease_grace_over(store, container_of(node, struct store_stage, grace));
        break;
    case TIMER_PIN:
        pins_due(store, container_of(node, struct item, pin_end));
        break;
    case TIMER_PULL:
        pull_end_wait(store, container_of(node, struct store_pull, timer));
        break;
    case TIMER_WORD:
        word_end_wait(store, container_of(node, struct store_word, timer));
        break;
    case TIMER_DRAIN:
        break;
    }
}

void store_tick(struct store *store) {
    uint64_t now = (uint64_t)store_now(store);
    for (struct queue_node *node; (node = queue_first(&store->timers)) && node->high <= now;) {
        enum timer_kind kind = (enum timer_kind)node->low;
        queue_remove(&store->timers, node);
        run_timer(store, node, kind);
    }
}

/* ---- drain ---- */

static void end_publishes(struct store *store) {
    list_each(node, &store->channels_in_order) {
        publishes_end(store, container_of(node, struct store_channel, in_order), SW_REASON_SHUTTING_DOWN);
    }
}

void store_drain(struct store *store) {
    if (store->draining) return;
    store->draining = true;
    store->drain_end_ms = clock_after(store_now(store), store->options.drain_grace_ms);
    queue_put(&store->timers, &store->drain_end, (uint64_t)store->drain_end_ms, TIMER_DRAIN);
    end_publishes(store);
    leases_refuse_pending(store);
    waiting_settle_all(store);
    meetings_settle_all(store);
}

bool store_draining(const struct store *store) {
    return store->draining;
}

bool store_drained(const struct store *store) {
    return store->draining && (store->channels_needed == 0 || store_now(store) >= store->drain_end_ms);
}
