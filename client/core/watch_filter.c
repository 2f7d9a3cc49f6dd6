#include "client/core/watch_filter.h"

#include <string.h>

static bool name_matches(const char *pattern, const char *name) {
    size_t size = strlen(pattern);
    if (size > 0 && pattern[size - 1] == '*') return strncmp(pattern, name, size - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool matches(const sw_watch_filter *filter, const sw_address *channel) {
    return (!filter->has_stage || filter->stage == channel->stage) &&
           (!filter->has_group || filter->group == channel->group) &&
           (!filter->channel || name_matches(filter->channel, channel->channel));
}

bool watch_filters_match(const sw_watch_filter *filters, uint32_t count, const sw_address *channel) {
    for (uint32_t i = 0; i < count; i++)
        if (matches(&filters[i], channel)) return true;
    return count == 0;
}

static const uint32_t *copy_number(bool has, uint32_t number, struct arena *arena) {
    uint32_t *copy = arena_get(arena, sizeof *copy);
    if (copy) *copy = has ? number : 0;
    return copy;
}

static bool copy_filter(const sw_watch_filter *filter, struct channel_filter *ret, struct arena *arena) {
    const char **channels = arena_get(arena, sizeof *channels);
    const char *channel = filter->channel ? filter->channel : "";
    ret->stages = copy_number(filter->has_stage, filter->stage, arena);
    ret->stage_count = filter->has_stage;
    ret->groups = copy_number(filter->has_group, filter->group, arena);
    ret->group_count = filter->has_group;
    ret->channels = channels;
    ret->channel_count = filter->channel != NULL;
    if (!ret->stages || !ret->groups || !channels) return false;
    channels[0] = arena_string(arena, channel, strlen(channel));
    return channels[0] != NULL;
}

const struct channel_filter *watch_filters_copy(const sw_watch_filter *filters, uint32_t count,
                                                struct arena *arena) {
    struct channel_filter *copies = arena_get(arena, count * sizeof *copies);
    for (uint32_t i = 0; copies && i < count; i++)
        if (!copy_filter(&filters[i], &copies[i], arena)) return NULL;
    return copies;
}
