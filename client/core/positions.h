/* Where a watch stands in each channel: so that it goes on where it was, neither repeating nor missing
 * anything, when its stream broke. Pure. Not thread-safe. */
#ifndef STAGEWIRE_CLIENT_CORE_POSITIONS_H
#define STAGEWIRE_CLIENT_CORE_POSITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/allocator.h"
#include "proto/wire/arena.h"
#include "proto/wire/messages.h"

struct position;

struct positions {
    struct position **sorted; /* by stage, group, channel */
    uint32_t count, capacity;
    uint64_t generation; /* the newest seen; 0: none yet */
    const struct allocator *allocator;
};

void positions_init(struct positions *positions, const struct allocator *allocator);
void positions_destroy(struct positions *positions);

/* The next item wanted of a channel. False without memory. */
bool positions_want(struct positions *positions, const sw_address *next);
/* Nothing new is to be said of this closing, should it come with the first of a stream. False without memory.
 */
bool positions_closed(struct positions *positions, const struct channel_closed *closed);

/* What to do with an event of the stream. */
struct positions_verdict {
    bool deliver;
    bool new_generation; /* say first that a generation began: the event's own, positions.generation */
};
/* Moves on. False without memory. */
bool positions_take(struct positions *positions, const struct watch_event *event,
                    struct positions_verdict *ret_verdict);

/* A new stream follows: it repeats the closings that are known. */
void positions_stream_begins(struct positions *positions);

/* For WatchLossMetricsRequest.positions, in `arena`; strings stay those of `positions`. False without memory.
 */
bool positions_list(const struct positions *positions, struct arena *arena, const sw_address **ret_addresses,
                    uint32_t *ret_count);

/* The address after this one within its channel. */
sw_address address_after(const sw_address *address);

#endif
