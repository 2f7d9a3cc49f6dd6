#include "client/core/released.h"

#include <string.h>

struct released_channel {
    struct list link;
    uint64_t generation;
    uint32_t stage, group;
    sw_item_kind kind;
    bool any;       /* something arrived that may go */
    uint64_t whole; /* the newest such step */
    bool keeps;
    uint64_t kept_first, kept_last;
    uint64_t said; /* by itself, not with a pull */
    char name[];
};

static const char *name_of(const sw_address *address) {
    return address->channel ? address->channel : "";
}

/* Whether an address that leaves stage or generation open may mean the channel. */
static bool may_mean(const sw_address *asked, sw_item_kind kind, const struct released_channel *channel) {
    return kind == channel->kind && asked->group == channel->group &&
           (!asked->has_stage || asked->stage == channel->stage) &&
           (asked->generation == 0 || asked->generation == channel->generation) &&
           strcmp(name_of(asked), channel->name) == 0;
}

static bool names_all(const sw_address *asked) {
    return asked->has_stage && asked->generation > 0;
}

static struct released_channel *channel_of(struct list *link) {
    return container_of(link, struct released_channel, link);
}

void released_init(struct released *released, const struct allocator *allocator) {
    list_init(&released->channels);
    list_init(&released->tickets);
    released->allocator = allocator;
}

static void drop(struct released *released, struct released_channel *channel) {
    list_remove(&channel->link);
    allocator_put(released->allocator, channel);
}

void released_destroy(struct released *released) {
    list_each_safe(link, &released->channels) drop(released, channel_of(link));
}

/* The newest held is never older than what this consumer has seen. */
static uint64_t floor_of_latest(const struct released *released, const struct released_ticket *ticket) {
    uint64_t floor = UINT64_MAX;
    list_each(link, &released->channels) {
        const struct released_channel *channel = channel_of(link);
        if (!may_mean(ticket->asked, ticket->kind, channel)) continue;
        uint64_t newest = channel->any ? channel->whole : 0;
        if (newest < floor) floor = newest;
    }
    return floor == UINT64_MAX ? 0 : floor;
}

void released_begin(struct released *released, struct released_ticket *ticket, const sw_address *asked,
                    sw_item_kind kind, bool latest, bool keep) {
    *ticket = (struct released_ticket){.asked = asked, .kind = kind, .latest = latest, .keep = keep};
    ticket->floor = latest ? floor_of_latest(released, ticket) : asked->step;
    list_append(&released->tickets, &ticket->link);
}

static uint64_t below_of(const struct released *released, const struct released_channel *channel) {
    if (!channel->any) return 0;
    uint64_t below = channel->whole + 1;
    if (channel->keeps && channel->kept_first < below) below = channel->kept_first;
    list_each(link, &released->tickets) {
        const struct released_ticket *ticket = container_of(link, struct released_ticket, link);
        if (ticket->floor < below && may_mean(ticket->asked, ticket->kind, channel)) below = ticket->floor;
    }
    return below;
}

uint64_t released_below(const struct released *released, const struct released_ticket *ticket) {
    if (!names_all(ticket->asked)) return 0;
    list_each(link, &released->channels) {
        const struct released_channel *channel = channel_of(link);
        if (may_mean(ticket->asked, ticket->kind, channel)) return below_of(released, channel);
    }
    return 0;
}

bool released_next(struct released *released, const struct released_ticket *ticket,
                   struct released_channel **cursor, sw_address *ret_address, uint64_t *ret_below) {
    if (names_all(ticket->asked)) return false;
    struct list *link = *cursor ? (*cursor)->link.next : released->channels.next;
    for (; link != &released->channels; link = link->next) {
        struct released_channel *channel = channel_of(link);
        if (!may_mean(ticket->asked, ticket->kind, channel)) continue;
        uint64_t below = below_of(released, channel);
        if (below <= channel->said) continue;
        channel->said = below;
        *ret_below = below;
        *ret_address = (sw_address){.generation = channel->generation,
                                    .has_stage = true,
                                    .stage = channel->stage,
                                    .group = channel->group,
                                    .channel = channel->name};
        *cursor = channel;
        return true;
    }
    return false;
}

/* The channel of a resolved address, made if need be; NULL without memory and for an older generation. */
static struct released_channel *find_or_make(struct released *released, const sw_address *address,
                                             sw_item_kind kind) {
    sw_address any_generation = *address;
    any_generation.generation = 0;
    list_each_safe(link, &released->channels) {
        struct released_channel *channel = channel_of(link);
        if (!may_mean(&any_generation, kind, channel)) continue;
        if (channel->generation == address->generation) return channel;
        if (channel->generation > address->generation) return NULL;
        drop(released, channel);
    }
    size_t size = strlen(name_of(address)) + 1;
    struct released_channel *made = allocator_get_zeroed(released->allocator, sizeof *made + size);
    if (!made) return NULL;
    made->generation = address->generation;
    made->stage = address->stage;
    made->group = address->group;
    made->kind = kind;
    memcpy(made->name, name_of(address), size);
    list_append(&released->channels, &made->link);
    return made;
}

static void keep(struct released_channel *channel, uint64_t step) {
    if (!channel->keeps || step < channel->kept_first) channel->kept_first = step;
    if (!channel->keeps || step > channel->kept_last) channel->kept_last = step;
    channel->keeps = true;
}

void released_end(struct released *released, struct released_ticket *ticket, const sw_address *arrived) {
    if (!list_linked(&ticket->link)) return;
    list_remove(&ticket->link);
    if (!arrived || !names_all(arrived)) return;
    struct released_channel *channel = find_or_make(released, arrived, ticket->kind);
    if (!channel) return;
    if (ticket->keep) {
        keep(channel, arrived->step);
    } else if (!channel->any || arrived->step > channel->whole) {
        channel->any = true;
        channel->whole = arrived->step;
    }
}

/* Either may leave stage and generation open: then they may mean the same channel. */
bool released_may_resume(const struct released *released, const sw_address *address, sw_item_kind kind,
                         uint64_t below) {
    list_each(link, &released->tickets) {
        const struct released_ticket *ticket = container_of(link, struct released_ticket, link);
        const sw_address *asked = ticket->asked;
        if (ticket->floor < below && ticket->kind == kind && asked->group == address->group &&
            strcmp(name_of(asked), name_of(address)) == 0)
            return true;
    }
    return false;
}

void released_told(struct released *released, const sw_address *address, sw_item_kind kind, uint64_t below) {
    list_each(link, &released->channels) {
        struct released_channel *channel = channel_of(link);
        if (!may_mean(address, kind, channel) || !channel->keeps || below <= channel->kept_first) continue;
        channel->kept_first = below;
        channel->keeps = below <= channel->kept_last;
    }
}
