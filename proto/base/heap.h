/* A binary heap of timers that live in their owners: the earliest first, any one removable, no allocation an
 * entry. */
#ifndef STAGEWIRE_BASE_HEAP_H
#define STAGEWIRE_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/allocator.h"

struct heap_node {
    int64_t due;
    size_t place; /* 1 + index in the heap; 0: in none */
};

struct heap {
    struct heap_node **nodes;
    size_t count, capacity;
    const struct allocator *allocator;
};

void heap_init(struct heap *heap, const struct allocator *allocator);
void heap_destroy(struct heap *heap);

/* False without memory; the node is then in no heap. A node that is in the heap already is moved to `due`. */
bool heap_put(struct heap *heap, struct heap_node *node, int64_t due);
void heap_remove(struct heap *heap, struct heap_node *node); /* fine if it is in none */
struct heap_node *heap_first(const struct heap *heap);       /* NULL if empty */

static inline bool heap_has(const struct heap_node *node) {
    return node->place != 0;
}

#endif
