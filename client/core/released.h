/* What a consumer no longer needs: which steps of a channel its next pull may release.
 *
 * An item that arrived whole is released by a later pull of its channel, for a later step: the step that is
 * being pulled may have further calls. A step of which any pull is still under way is not released, nor one
 * that was pulled with `keep`, until released_told. A channel is known by its resolved address, so that what
 * was pulled in one generation never releases a step of the next. Not thread-safe. */
#ifndef STAGEWIRE_CLIENT_CORE_RELEASED_H
#define STAGEWIRE_CLIENT_CORE_RELEASED_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/address.h>

#include "proto/base/allocator.h"
#include "proto/base/list.h"

struct released {
    struct list channels, tickets;
    const struct allocator *allocator;
};

/* A pull under way; embedded in its owner, with the address as it was asked for. */
struct released_ticket {
    struct list link;
    const sw_address *asked;
    sw_item_kind kind;
    bool latest, keep;
    uint64_t floor; /* no step from here on may go */
};

void released_init(struct released *released, const struct allocator *allocator);
void released_destroy(struct released *released);

/* `asked` stays where it is until released_end. */
void released_begin(struct released *released, struct released_ticket *ticket, const sw_address *asked,
                    sw_item_kind kind, bool latest, bool keep);
/* What this very pull may say. 0 unless its address names generation and stage: another channel than the one
 * that is meant might answer. */
uint64_t released_below(const struct released *released, const struct released_ticket *ticket);
/* For a pull that names not both: the next channel that it may mean and of which there is something new to
 * release, to be said by itself. `cursor` starts as NULL; false at the end. */
struct released_channel;
bool released_next(struct released *released, const struct released_ticket *ticket,
                   struct released_channel **cursor, sw_address *ret_address, uint64_t *ret_below);
/* `arrived` is the resolved address of what arrived whole, or NULL. Without memory it is forgotten: a step is
 * then held longer than needed. Fine for a ticket that has not begun. */
void released_end(struct released *released, struct released_ticket *ticket, const sw_address *arrived);

/* Whether a pull under way may be of a step below: it may still name a pin. */
bool released_may_resume(const struct released *released, const sw_address *address, sw_item_kind kind,
                         uint64_t below);

/* The caller said it himself. */
void released_told(struct released *released, const sw_address *address, sw_item_kind kind, uint64_t below);

#endif
