/* An allocator whose n-th allocation fails, and every later one; it counts what is out, so that a test sees
 * leaks. */
#ifndef STAGEWIRE_TESTS_UNIT_WIRE_FAILING_H
#define STAGEWIRE_TESTS_UNIT_WIRE_FAILING_H

#include <stdlib.h>

#include "proto/base/allocator.h"

struct failing {
    struct allocator allocator;
    size_t left; /* allocations that succeed */
    size_t out;  /* given out and not given back */
};

static inline void *failing_allocate(void *context, size_t size) {
    struct failing *failing = context;
    if (failing->left == 0) return NULL;
    failing->left--;
    failing->out++;
    return malloc(size ? size : 1);
}

static inline void *failing_resize(void *context, void *memory, size_t size) {
    struct failing *failing = context;
    if (failing->left == 0) return NULL;
    failing->left--;
    if (!memory) failing->out++;
    return realloc(memory, size ? size : 1);
}

static inline void failing_release(void *context, void *memory) {
    struct failing *failing = context;
    if (memory) failing->out--;
    free(memory);
}

/* `failing` must stay where it is. */
static inline void failing_init(struct failing *failing, size_t left) {
    *failing = (struct failing){{failing_allocate, failing_resize, failing_release, failing}, left, 0};
}

#endif
