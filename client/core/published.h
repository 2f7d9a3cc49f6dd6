/* How far a publisher has come in each channel of its generation: what an endpoint that was started anew
 * can't know, and is told when a lease is taken up again (next_step). Not thread-safe. */
#ifndef STAGEWIRE_CLIENT_CORE_PUBLISHED_H
#define STAGEWIRE_CLIENT_CORE_PUBLISHED_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/address.h>

#include "proto/base/allocator.h"
#include "proto/base/list.h"

struct published {
    struct list channels;
    uint64_t generation; /* 0: none begun, and nothing is remembered */
    const struct allocator *allocator;
};

void published_init(struct published *published, const struct allocator *allocator);
void published_destroy(struct published *published);

/* A lease stands in this generation; a newer one forgets what was. */
void published_generation(struct published *published, uint64_t generation);

/* The endpoint has it. Without memory it is forgotten. */
void published_item(struct published *published, const sw_address *address, sw_item_kind kind);

/* The step that the channel has come to: 0 if none is known. It may have further calls. */
uint64_t published_step(const struct published *published, uint32_t stage, uint32_t group,
                        const char *channel, sw_item_kind kind);

#endif
