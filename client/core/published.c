#include "client/core/published.h"

#include <string.h>

struct published_channel {
    struct list link;
    bool has_stage;
    uint32_t stage, group;
    sw_item_kind kind;
    uint64_t step;
    char name[];
};

static struct published_channel *channel_of(struct list *link) {
    return container_of(link, struct published_channel, link);
}

void published_init(struct published *published, const struct allocator *allocator) {
    list_init(&published->channels);
    published->generation = 0;
    published->allocator = allocator;
}

void published_destroy(struct published *published) {
    list_each_safe(link, &published->channels) {
        list_remove(link);
        allocator_put(published->allocator, channel_of(link));
    }
}

void published_generation(struct published *published, uint64_t generation) {
    if (generation <= published->generation) return;
    published_destroy(published);
    published->generation = generation;
}

static bool is_of(const struct published_channel *channel, uint32_t group, const char *name,
                  sw_item_kind kind) {
    return channel->group == group && channel->kind == kind && strcmp(channel->name, name) == 0;
}

static struct published_channel *find_or_make(struct published *published, const sw_address *address,
                                              sw_item_kind kind) {
    list_each(link, &published->channels) {
        struct published_channel *channel = channel_of(link);
        if (is_of(channel, address->group, address->channel, kind) &&
            channel->has_stage == address->has_stage &&
            (!channel->has_stage || channel->stage == address->stage))
            return channel;
    }
    size_t size = strlen(address->channel) + 1;
    struct published_channel *made = allocator_get_zeroed(published->allocator, sizeof *made + size);
    if (!made) return NULL;
    made->has_stage = address->has_stage;
    made->stage = address->stage;
    made->group = address->group;
    made->kind = kind;
    memcpy(made->name, address->channel, size);
    list_append(&published->channels, &made->link);
    return made;
}

void published_item(struct published *published, const sw_address *address, sw_item_kind kind) {
    bool is_current = address->generation == 0 || address->generation == published->generation;
    if (published->generation == 0 || !is_current) return;
    struct published_channel *channel = find_or_make(published, address, kind);
    if (channel && address->step > channel->step) channel->step = address->step;
}

uint64_t published_step(const struct published *published, uint32_t stage, uint32_t group, const char *name,
                        sw_item_kind kind) {
    uint64_t step = 0;
    list_each(link, &published->channels) {
        const struct published_channel *channel = channel_of(link);
        if (!is_of(channel, group, name, kind) || (channel->has_stage && channel->stage != stage)) continue;
        if (channel->step > step) step = channel->step;
    }
    return step;
}
