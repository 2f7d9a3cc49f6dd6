/* Memory that goes at once, with a budget: what one decoded message lives in. Not thread-safe. */
#ifndef STAGEWIRE_WIRE_ARENA_H
#define STAGEWIRE_WIRE_ARENA_H

#include <stddef.h>

#include "proto/base/allocator.h"

struct arena {
    const struct allocator *allocator;
    struct arena_block *blocks;
    size_t used, budget;
};

void arena_init(struct arena *arena, const struct allocator *allocator, size_t budget);
void arena_destroy(struct arena *arena);

/* Aligned for anything; NULL where the budget or memory ends. Size 0 gives a valid pointer. */
void *arena_get(struct arena *arena, size_t size);
char *arena_string(struct arena *arena, const char *data, size_t size); /* NUL-terminated copy */

#endif
