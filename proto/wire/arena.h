/* Memory that goes at once, with a budget: what one decoded message lives in. Not thread-safe. */
#ifndef STAGEWIRE_WIRE_ARENA_H
#define STAGEWIRE_WIRE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/allocator.h"

struct arena {
    const struct allocator *allocator;
    struct arena_block *blocks;
    size_t used, budget;
    bool over_budget; /* the budget ended, not the memory */
};

void arena_init(struct arena *arena, const struct allocator *allocator, size_t budget);
void arena_destroy(struct arena *arena);

/* Aligned for anything; NULL where the budget or memory ends. Size 0 gives a valid pointer. */
void *arena_get(struct arena *arena, size_t size);
void *arena_get_array(struct arena *arena, size_t count, size_t size);
char *arena_string(struct arena *arena, const char *data, size_t size); /* NUL-terminated copy */

#endif
