/* What an endpoint tells of itself, a page of channels at a time. A page token is GENERATION/NUMBER: the
 * number of the channel that the page begins with, in order of creation. One of an older generation begins
 * anew. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/store/internal.h"
#include "service/store/words.h"

#define PAGE_CHANNELS 1000
#define PAGE_BYTES    (2u << 20) /* about: half a message, so that its last channel fits in any case */

static sw_status refuse_token(const char *token, sw_error *error) {
    error_set(error, SW_REASON_MALFORMED,
              "page_token \"%.64s\" is none that this endpoint gave out; leave it empty to begin, and pass "
              "next_page_token on as it is",
              token);
    error_add(error, "path", "page_token");
    return SW_INVALID_ARGUMENT;
}

static bool parse_token(const struct store *store, const char *token, uint64_t *ret_number) {
    uint64_t generation, number;
    int end = 0;
    *ret_number = 0;
    if (!token || token[0] == '\0') return true;
    if (token[strspn(token, "0123456789/")] != '\0' || strlen(token) > 40) return false;
    if (sscanf(token, "%" SCNu64 "/%" SCNu64 "%n", &generation, &number, &end) != 2 || token[end] != '\0')
        return false;
    if (generation == store->generation) *ret_number = number;
    return true;
}

static sw_status no_room(const struct store *store, sw_error *error) {
    sw_address address = {.stage = store->options.stage};
    return say_no_memory(store, &(struct subject){.address = address, .about = ABOUT_STAGE}, error);
}

/* ---- leases: (stage, group) that is held or lost ---- */

static bool has_lease(const struct store_stage *stage) {
    return stage->lost || !list_empty(&stage->leases);
}

static bool fill_leases(const struct store *store, struct arena *arena, struct stage_info *info) {
    uint32_t count = 0;
    for (struct table_node *n = NULL; (n = table_walk(&store->stages, n));)
        count += has_lease(container_of(n, struct store_stage, by_number));
    struct lease_info *leases = arena_get(arena, count * sizeof *leases);
    if (!leases) return false;
    info->leases = leases;
    for (struct table_node *n = NULL; (n = table_walk(&store->stages, n));) {
        const struct store_stage *stage = container_of(n, struct store_stage, by_number);
        if (!has_lease(stage)) continue;
        leases[info->lease_count++] =
            (struct lease_info){stage->number, stage->group, stage->stage_count, stage->lost};
    }
    return true;
}

/* ---- channels ---- */

static bool fill_consumers(const struct policy *policy, struct arena *arena, struct channel_info *info) {
    struct consumer_request *list = arena_get(arena, policy->count * sizeof *list);
    if (!list) return false;
    info->consumers = list;
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct consumer *consumer = &policy->consumers[i];
        if (consumer->dropped) continue;
        char *id = arena_string(arena, consumer->id, strlen(consumer->id));
        if (!id) return false;
        list[info->consumer_count++] = (struct consumer_request){.id = id, .release_below = consumer->below};
    }
    return true;
}

static bool fill_closing(const struct store_channel *channel, struct arena *arena,
                         struct channel_info *info) {
    const struct closing *closed = channel->closed;
    char *message = arena_string(arena, closed->message, strlen(closed->message));
    info->is_closed = true;
    info->closed = (struct channel_closed){
        .last = info->latest,
        .kind = channel->kind,
        .reason = closed->reason,
        .message = message,
        .items = channel->history.count,
    };
    return message != NULL;
}

static bool fill_channel(const struct store *store, const struct store_channel *channel, struct arena *arena,
                         struct channel_info *info) {
    const struct history *h = &channel->history;
    *info = (struct channel_info){
        .has_items = h->count > 0,
        .latest = channel_latest_address(store, channel),
        .kind = channel->kind,
        .items = h->count,
        .held_bytes = history_bytes_of(h, history_steps(h)),
    };
    char *name = arena_string(arena, channel->name, strlen(channel->name));
    info->latest.channel = name;
    info->oldest = info->latest;
    if (history_holds(h)) {
        struct at oldest = history_publication(h, h->first_held).at;
        info->oldest.step = oldest.step;
        info->oldest.call = oldest.call;
    }
    if (!name) return false;
    if (channel->policy && !fill_consumers(channel->policy, arena, info)) return false;
    return !channel->closed || fill_closing(channel, arena, info);
}

/* What it takes in a message, roughly and not too little. */
static size_t weight(const struct channel_info *info) {
    size_t bytes = 256 + 3 * strlen(info->latest.channel);
    for (uint32_t i = 0; i < info->consumer_count; i++) bytes += strlen(info->consumers[i].id) + 24;
    return bytes + (info->is_closed ? strlen(info->closed.message) + strlen(info->latest.channel) + 64 : 0);
}

static bool fill_channels(const struct store *store, uint64_t first, struct arena *arena,
                          struct stage_info *info) {
    size_t most = store->channels.count < PAGE_CHANNELS ? store->channels.count : PAGE_CHANNELS;
    struct channel_info *page = arena_get(arena, most * sizeof *page);
    char *token = arena_get(arena, 48);
    if (!page || !token) return false;
    token[0] = '\0';
    info->channels = page;
    info->next_page_token = token;
    size_t bytes = 0;
    list_each(node, &store->channels_in_order) {
        const struct store_channel *channel = container_of(node, struct store_channel, in_order);
        if (channel->number < first) continue;
        if (info->channel_count == PAGE_CHANNELS || bytes > PAGE_BYTES) {
            snprintf(token, 48, "%" PRIu64 "/%" PRIu64, store->generation, channel->number);
            break;
        }
        if (!fill_channel(store, channel, arena, &page[info->channel_count])) return false;
        bytes += weight(&page[info->channel_count++]);
    }
    return true;
}

sw_status store_info(const struct store *store, const char *page_token, struct arena *arena,
                     struct stage_info *ret, sw_error *error) {
    uint64_t first;
    if (!parse_token(store, page_token, &first)) return refuse_token(page_token, error);
    struct stage_info info = {
        .run_id = store->options.run_id,
        .generation = store->generation,
        .held_bytes = store->tensors.used,
        .store_bytes = store->tensors.capacity,
        .load =
            {
                .waiting = store->waiters,
                .watches = store->watch_count,
                .streams = store->streams,
                .open_publishes = store->publish_count,
                .pinned_bytes = store->pinned_bytes,
                .metrics_held_bytes = store->rest.used,
                .metrics_bytes = store->rest.capacity,
            },
    };
    if (first == 0 && !fill_leases(store, arena, &info)) return no_room(store, error);
    if (!fill_channels(store, first, arena, &info)) return no_room(store, error);
    *ret = info;
    return SW_OK;
}
