/* Where a watch stands in one channel. It holds nothing: what it has yet to tell lies in the channel, and
 * what has gone meanwhile is a Gap. */
#ifndef STAGEWIRE_SERVICE_CURSOR_H
#define STAGEWIRE_SERVICE_CURSOR_H

#include "service/store/internal.h"

struct cursor {
    struct list in_watch, in_channel, dirty;
    struct store_watch *watch;
    struct store_channel *channel;
    struct at position;  /* the next item wanted */
    uint64_t next_index; /* the publications before this one are told, or not wanted */
    bool gap_due;        /* something wanted had gone before it began */
    uint64_t closed_at;  /* the closing's sequence while it is to be told; 0: it isn't */
    uint64_t lost_at;    /* the same of a loss */
};

/* For a channel that is just made: everything in it is new. */
void cursor_begin_with_channel(struct cursor *cursor, const sw_address *position, uint64_t generation);
/* For a channel that is there. `position` is NULL where the watch has none. */
void cursor_begin(struct store *store, struct cursor *cursor, const sw_address *position);
/* False: it is told already, or not wanted. */
bool cursor_wants(struct cursor *cursor, const struct item *item);
bool cursor_next(struct store *store, struct cursor *cursor, struct watch_event *ret_event,
                 const struct store_item **ret_item);

#endif
