/* Channels: (stage, group, kind, name) in the current generation. */
#include <stdlib.h>
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

static uint64_t name_hash(const struct store *store, const struct channel_key *key) {
    return hash_text(hash_number(store->hash_seed, (uint64_t)key->group << 2 | (uint64_t)key->kind),
                     key->name);
}

uint64_t channel_hash(const struct store *store, const struct channel_key *key) {
    return hash_number(name_hash(store, key), key->stage);
}

static bool has_name(const struct store_channel *channel, const struct channel_key *key) {
    return channel->stage->group == key->group && channel->kind == key->kind &&
           strcmp(channel->name, key->name) == 0;
}

struct store_channel *channel_find(const struct store *store, const struct channel_key *key) {
    for (struct table_node *node = table_find(&store->channels, channel_hash(store, key)); node;
         node = table_same(node)) {
        struct store_channel *channel = container_of(node, struct store_channel, by_key);
        if (channel->stage->number == key->stage && has_name(channel, key)) return channel;
    }
    return NULL;
}

struct store_channel *channel_of_any_stage(const struct store *store, const struct channel_key *key,
                                           const struct store_channel *after) {
    struct table_node *node =
        after ? table_same(&after->by_name) : table_find(&store->channels_by_name, name_hash(store, key));
    for (; node; node = table_same(node)) {
        struct store_channel *channel = container_of(node, struct store_channel, by_name);
        if (has_name(channel, key)) return channel;
    }
    return NULL;
}

struct budget *channel_budget(struct store *store, sw_item_kind kind) {
    return kind == SW_TENSORS ? &store->tensors : &store->rest;
}

static void give_oldest_step(struct store *store, struct giver *giver) {
    keep_drop_step(store, container_of(giver, struct store_channel, giver));
}

struct store_channel *channel_create(struct store *store, const struct channel_key *key,
                                     uint64_t generation) {
    struct store_stage *stage = stage_get(store, key->stage, key->group);
    if (!stage) return NULL;
    size_t name_size = strlen(key->name) + 1;
    struct store_channel *channel = store_get(store, sizeof *channel + name_size);
    if (!channel) goto put_stage;
    *channel = (struct store_channel){.stage = stage, .kind = key->kind};
    memcpy(channel->name, key->name, name_size);
    giver_init(&channel->giver, channel_budget(store, key->kind), give_oldest_step);
    list_init(&channel->publishes);
    list_init(&channel->cursors);
    if (!watches_join(store, channel, generation)) goto put_channel;
    if (generation == store->generation) channel->closed = closing_ref(stage->closed);
    list_append(&stage->channels, &channel->in_stage);
    return channel;

put_channel:
    store_put(store, channel);
put_stage:
    stage_put(store, stage);
    return NULL;
}

void channel_admit(struct store *store, struct store_channel *channel) {
    struct channel_key key = {channel->stage->number, channel->stage->group, channel->kind, channel->name};
    table_add(&store->channels, &channel->by_key, channel_hash(store, &key));
    table_add(&store->channels_by_name, &channel->by_name, name_hash(store, &key));
    list_append(&store->channels_in_order, &channel->in_order);
    channel->number = store->channels_created++;
    channel->waiting = waiting_find(store, &key, store->generation);
}

/* What is left once it is in no table. */
static void free_channel(struct store *store, struct store_channel *channel) {
    struct store_stage *stage = channel->stage;
    watches_leave(store, channel);
    closing_unref(store, channel->closed);
    history_free(&channel->history, store->world.allocator);
    list_remove(&channel->in_stage);
    store_put(store, channel->policy);
    store_put(store, channel);
    stage_put(store, stage);
}

void channel_discard(struct store *store, struct store_channel *channel) {
    free_channel(store, channel);
}

void channel_remove(struct store *store, struct store_channel *channel) {
    while (history_holds(&channel->history)) item_gone(store, channel, history_drop(&channel->history));
    channel->newest_good = NULL;
    keep_settle(store, channel);
    table_remove(&store->channels, &channel->by_key);
    table_remove(&store->channels_by_name, &channel->by_name);
    list_remove(&channel->in_order);
    list_remove(&channel->in_declared);
    free_channel(store, channel);
}

static int compare_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static sw_status refuse_ambiguous(const struct store *store, const struct channel_key *key,
                                  const sw_address *address, size_t count, sw_error *error) {
    struct subject subject = {*address, key->kind, ABOUT_STEP};
    uint32_t *stages = store_get(store, count * sizeof *stages);
    if (!stages) return say_no_memory(store, &subject, error);
    size_t i = 0;
    for (struct store_channel *c = NULL; (c = channel_of_any_stage(store, key, c));)
        stages[i++] = c->stage->number;
    qsort(stages, count, sizeof *stages, compare_numbers);
    say_ambiguous(&subject, stages, count, error);
    store_put(store, stages);
    return SW_INVALID_ARGUMENT;
}

sw_status channel_settle_stage(const struct store *store, const sw_address *address, sw_item_kind kind,
                               uint32_t *ret_stage, sw_error *error) {
    if (address->has_stage) {
        *ret_stage = address->stage;
        return SW_OK;
    }
    struct channel_key key = {0, address->group, kind, address->channel};
    struct store_channel *only = NULL;
    size_t count = 0;
    for (struct store_channel *c = NULL; (c = channel_of_any_stage(store, &key, c)); count++) only = c;
    if (count > 1) return refuse_ambiguous(store, &key, address, count, error);
    *ret_stage = only ? only->stage->number : store->options.stage;
    return SW_OK;
}

sw_address channel_address(const struct store *store, const struct store_channel *channel, struct at at) {
    return (sw_address){
        .run_id = store->options.run_id,
        .generation = store->generation,
        .has_stage = true,
        .stage = channel->stage->number,
        .group = channel->stage->group,
        .channel = channel->name,
        .step = at.step,
        .call = at.call,
    };
}

sw_address channel_latest_address(const struct store *store, const struct store_channel *channel) {
    struct at nowhere = {0, 0};
    return channel_address(store, channel,
                           channel->history.count ? history_latest(&channel->history) : nowhere);
}

bool channel_has_forgotten(const struct store_channel *channel, struct at at) {
    const struct history *h = &channel->history;
    bool before_this_endpoint = at.step < channel->next_step;
    uint64_t index;
    if (history_find(h, at, &index)) return true;
    if (h->count == 0 || at_below(history_latest(h), at)) return before_this_endpoint;
    /* From the first that is known on, it is known what was published and what was not. */
    uint64_t known = history_known(h);
    return at_below(at, history_publication(h, known).at) && (known > 0 || before_this_endpoint);
}
