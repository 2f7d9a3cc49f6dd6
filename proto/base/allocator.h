/* Memory is handed in, so that tests can let any allocation fail. */
#ifndef STAGEWIRE_BASE_ALLOCATOR_H
#define STAGEWIRE_BASE_ALLOCATOR_H

#include <stddef.h>

struct allocator {
    void *(*allocate)(void *context, size_t size); /* NULL without memory; not cleared */
    void *(*resize)(void *context, void *memory, size_t size);
    void (*release)(void *context, void *memory); /* takes NULL */
    void *context;
};

/* malloc, realloc, free. */
extern const struct allocator allocator_system;

static inline void *allocator_get(const struct allocator *a, size_t size) {
    return a->allocate(a->context, size);
}
void *allocator_get_zeroed(const struct allocator *a, size_t size);
static inline void *allocator_resize(const struct allocator *a, void *memory, size_t size) {
    return a->resize(a->context, memory, size);
}
static inline void allocator_put(const struct allocator *a, void *memory) {
    a->release(a->context, memory);
}

#endif
