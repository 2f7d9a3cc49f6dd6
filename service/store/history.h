/* What a channel published, in order: what is held (always its newest), and the digests of the last
 * LIMIT_KEPT_DIGESTS, gone ones too.
 *
 *     index   0 ......... known ......... first_held ............ count
 *             forgotten   | gone, comparable | held, in steps     | next
 *
 * Pure bookkeeping: who owns an item says so elsewhere. */
#ifndef STAGEWIRE_SERVICE_HISTORY_H
#define STAGEWIRE_SERVICE_HISTORY_H

#include "service/store/item.h"

struct held_step {
    uint64_t step;
    uint64_t first_index;    /* of its items */
    uint64_t first_sequence; /* of its first publication */
    uint64_t bytes_before;   /* published in the channel before it */
};

struct publication {
    struct at at;
    bool failed;
    struct digest digest;
};

struct history {
    uint64_t count; /* publications ever; the n-th has index n, from 0 */
    uint64_t first_held;
    uint64_t bytes; /* of all publications ever */

    struct item **items; /* by index, in a ring */
    size_t item_room;
    struct held_step *steps; /* by number, in a ring */
    size_t step_room;
    uint64_t first_step, end_step;
    struct publication *recent; /* by index, in a ring */
    size_t recent_room;
};

/* Memory for one more publication; false without. */
bool history_reserve(struct history *history, const struct allocator *allocator);
/* After history_reserve. Its place is above the latest. */
void history_add(struct history *history, struct item *item);
/* Takes the oldest held item out; its step goes with its last item. Something must be held. */
struct item *history_drop(struct history *history);
void history_free(struct history *history, const struct allocator *allocator);

/* The first index that is known: below it addresses are forgotten. */
uint64_t history_known(const struct history *history);
/* The first known index whose address is not below `at`; count if there is none. */
uint64_t history_lower_bound(const struct history *history, struct at at);
/* Whether something known was published at `at`, and its index. */
bool history_find(const struct history *history, struct at at, uint64_t *ret_index);
/* Of a known index. */
struct publication history_publication(const struct history *history, uint64_t index);
/* NULL where it has gone. */
struct item *history_item(const struct history *history, uint64_t index);

static inline bool history_holds(const struct history *history) {
    return history->first_held < history->count;
}
/* There must have been one. */
static inline struct at history_latest(const struct history *history) {
    return history_publication(history, history->count - 1).at;
}

/* Steps that are held, 0 the oldest. */
static inline uint64_t history_steps(const struct history *history) {
    return history->end_step - history->first_step;
}
const struct held_step *history_step(const struct history *history, uint64_t number);
/* The index after the last item of the oldest step held. */
uint64_t history_oldest_step_end(const struct history *history);
/* How many held steps are below `step`. */
uint64_t history_steps_below(const struct history *history, uint64_t step);
/* Bytes of the `number` oldest steps held. */
uint64_t history_bytes_of(const struct history *history, uint64_t number);

#endif
