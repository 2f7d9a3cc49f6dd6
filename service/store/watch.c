/* Watching metrics: each watch has a cursor in each channel that it wants, and a list of those with something
 * to tell. */
#include <stdlib.h>
#include <string.h>

#include "service/store/cursor.h"
#include "service/store/words.h"

/* ---- what a watch wants ---- */

static bool has_number(const uint32_t *numbers, uint32_t count, uint32_t number) {
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] == number) return true;
    }
    return count == 0;
}

/* A trailing * matches the rest. */
static bool name_fits(const char *pattern, const char *name) {
    size_t size = strlen(pattern);
    if (size > 0 && pattern[size - 1] == '*') return strncmp(pattern, name, size - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool has_name(const char *const *patterns, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (name_fits(patterns[i], name)) return true;
    }
    return count == 0;
}

static bool wants(const struct store_watch *watch, const struct store_channel *channel) {
    const struct watch_request *request = watch->request;
    if (channel->kind != SW_METRICS) return false;
    for (uint32_t i = 0; i < request->filter_count; i++) {
        const struct channel_filter *filter = &request->filters[i];
        if (has_number(filter->stages, filter->stage_count, channel->stage->number) &&
            has_number(filter->groups, filter->group_count, channel->stage->group) &&
            has_name(filter->channels, filter->channel_count, channel->name))
            return true;
    }
    return request->filter_count == 0;
}

/* ---- positions: a sorted copy, so that a channel's is found at once ---- */

static int compare_channels(const sw_address *a, const sw_address *b) {
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return strcmp(a->channel, b->channel);
}

static int compare_positions(const void *a, const void *b) {
    return compare_channels(*(const sw_address *const *)a, *(const sw_address *const *)b);
}

static bool sort_positions(struct store *store, struct store_watch *watch) {
    const struct watch_request *request = watch->request;
    watch->positions = NULL;
    if (request->start != WATCH_POSITIONS || request->position_count == 0) return true;
    watch->positions = store_get(store, request->position_count * sizeof(const sw_address *));
    if (!watch->positions) return false;
    for (uint32_t i = 0; i < request->position_count; i++) watch->positions[i] = &request->positions[i];
    qsort(watch->positions, request->position_count, sizeof(const sw_address *), compare_positions);
    return true;
}

static const sw_address *position_of(const struct store_watch *watch, const struct store_channel *channel) {
    if (!watch->positions) return NULL;
    sw_address wanted = {
        .stage = channel->stage->number, .group = channel->stage->group, .channel = channel->name};
    const sw_address *key = &wanted, **found;
    found = bsearch(&key, watch->positions, watch->request->position_count, sizeof key, compare_positions);
    return found ? *found : NULL;
}

/* ---- cursors of a watch and of a channel ---- */

static struct cursor *cursor_create(struct store *store, struct store_watch *watch,
                                    struct store_channel *channel) {
    struct cursor *cursor = store_get(store, sizeof *cursor);
    if (!cursor) return NULL;
    *cursor = (struct cursor){.watch = watch, .channel = channel};
    list_append(&watch->cursors, &cursor->in_watch);
    list_append(&channel->cursors, &cursor->in_channel);
    return cursor;
}

static void cursor_destroy(struct store *store, struct cursor *cursor) {
    list_remove(&cursor->in_watch);
    list_remove(&cursor->in_channel);
    list_remove(&cursor->dirty);
    store_put(store, cursor);
}

bool watches_join(struct store *store, struct store_channel *channel, uint64_t generation) {
    list_each(node, &store->watches) {
        struct store_watch *watch = container_of(node, struct store_watch, link);
        if (!wants(watch, channel)) continue;
        struct cursor *cursor = cursor_create(store, watch, channel);
        if (!cursor) {
            watches_leave(store, channel);
            return false;
        }
        cursor_begin_with_channel(cursor, position_of(watch, channel), generation);
    }
    return true;
}

void watches_leave(struct store *store, struct store_channel *channel) {
    while (!list_empty(&channel->cursors))
        cursor_destroy(store, container_of(channel->cursors.next, struct cursor, in_channel));
}

/* ---- what happens ---- */

static bool is_quiet(const struct store_watch *watch) {
    return list_empty(&watch->dirty) && !watch->generation_due;
}

static void mark(struct cursor *cursor) {
    if (list_linked(&cursor->dirty)) return;
    bool was_quiet = is_quiet(cursor->watch);
    list_append(&cursor->watch->dirty, &cursor->dirty);
    if (was_quiet) cursor->watch->ready(cursor->watch);
}

void watches_tell_item(struct store_channel *channel, const struct item *item) {
    list_each(node, &channel->cursors) {
        struct cursor *cursor = container_of(node, struct cursor, in_channel);
        if (cursor_wants(cursor, item)) mark(cursor);
    }
}

void watches_tell_closing(struct store *store, struct store_channel *channel) {
    uint64_t sequence = ++store->sequence;
    list_each(node, &channel->cursors) {
        struct cursor *cursor = container_of(node, struct cursor, in_channel);
        cursor->closed_at = sequence;
        mark(cursor);
    }
}

void watches_tell_loss(struct store *store, struct store_stage *stage) {
    uint64_t sequence = ++store->sequence;
    list_each(in_stage, &stage->channels) {
        struct store_channel *channel = container_of(in_stage, struct store_channel, in_stage);
        if (channel->closed) continue;
        list_each(node, &channel->cursors) {
            struct cursor *cursor = container_of(node, struct cursor, in_channel);
            cursor->lost_at = sequence;
            mark(cursor);
        }
    }
}

void watches_tell_generation(struct store *store) {
    list_each(node, &store->watches) {
        struct store_watch *watch = container_of(node, struct store_watch, link);
        bool was_quiet = is_quiet(watch);
        watch->generation_due = true;
        if (was_quiet) watch->ready(watch);
    }
}

/* ---- the calls ---- */

static bool has_older_position(const struct store *store, const struct watch_request *request) {
    if (request->start != WATCH_POSITIONS) return false;
    for (uint32_t i = 0; i < request->position_count; i++) {
        if (request->positions[i].generation < store->generation) return true;
    }
    return false;
}

static bool join_channels(struct store *store, struct store_watch *watch) {
    list_each(node, &store->channels_in_order) {
        struct store_channel *channel = container_of(node, struct store_channel, in_order);
        if (!wants(watch, channel)) continue;
        struct cursor *cursor = cursor_create(store, watch, channel);
        if (!cursor) return false;
        cursor_begin(store, cursor, position_of(watch, channel));
        list_append(&watch->dirty, &cursor->dirty);
    }
    return true;
}

static struct subject subject_of(const struct store *store, const struct watch_request *request) {
    sw_address address = {.run_id = request->run_id, .has_stage = true, .stage = store->options.stage};
    return (struct subject){.address = address, .about = ABOUT_STAGE};
}

sw_status store_watch_start(struct store *store, struct store_watch *watch,
                            const struct watch_request *request, sw_error *error) {
    struct subject subject = subject_of(store, request);
    watch->link = (struct list){NULL, NULL};
    if (store_is_other_run(store, request->run_id)) return say_other_run(store, &subject, error);
    if (store->watch_count >= store->options.max_watches)
        return say_limit(store, &subject, "watches", store->options.max_watches, error);
    watch->request = request;
    watch->generation_due = has_older_position(store, request);
    list_init(&watch->dirty);
    list_init(&watch->cursors);
    list_append(&store->watches, &watch->link);
    store->watch_count++;
    if (sort_positions(store, watch) && join_channels(store, watch)) return SW_OK;
    store_watch_stop(store, watch);
    return say_no_memory(store, &subject, error);
}

bool store_watch_next(struct store *store, struct store_watch *watch, struct watch_event *ret_event,
                      const struct store_item **ret_item) {
    *ret_event = (struct watch_event){.generation = 0};
    if (watch->generation_due) {
        watch->generation_due = false;
        ret_event->type = WATCH_GENERATION;
        ret_event->generation = store->generation;
        return true;
    }
    while (!list_empty(&watch->dirty)) {
        struct cursor *cursor = container_of(watch->dirty.next, struct cursor, dirty);
        list_remove(&cursor->dirty);
        if (!cursor_next(store, cursor, ret_event, ret_item)) continue;
        list_append(&watch->dirty, &cursor->dirty);
        return true;
    }
    return false;
}

void store_watch_stop(struct store *store, struct store_watch *watch) {
    if (!list_linked(&watch->link)) return;
    while (!list_empty(&watch->cursors))
        cursor_destroy(store, container_of(watch->cursors.next, struct cursor, in_watch));
    list_remove(&watch->link);
    store->watch_count--;
    store_put(store, watch->positions);
}
