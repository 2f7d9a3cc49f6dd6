#include "proto/base/allocator.h"

#include <stdlib.h>
#include <string.h>

static void *system_allocate(void *context, size_t size) {
    (void)context;
    return malloc(size ? size : 1);
}

static void *system_resize(void *context, void *memory, size_t size) {
    (void)context;
    return realloc(memory, size ? size : 1);
}

static void system_release(void *context, void *memory) {
    (void)context;
    free(memory);
}

const struct allocator allocator_system = {system_allocate, system_resize, system_release, NULL};

void *allocator_get_zeroed(const struct allocator *a, size_t size) {
    void *memory = allocator_get(a, size);
    if (memory) memset(memory, 0, size);
    return memory;
}
