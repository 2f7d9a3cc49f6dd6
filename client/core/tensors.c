#include <stdlib.h>
#include <string.h>

#include "client/core/results.h"

static bool get_arrays(sw_tensors *tensors, uint32_t count, struct arena *arena) {
    tensors->names = arena_get(arena, count * sizeof *tensors->names);
    tensors->views = arena_get(arena, count * sizeof *tensors->views);
    tensors->buffers = arena_get(arena, count * sizeof(sw_buffer *));
    return tensors->names && tensors->views && tensors->buffers &&
           names_init(&tensors->by_name, count, &allocator_system);
}

sw_tensors *tensors_create(uint32_t count, struct arena *arena) {
    sw_tensors *tensors = calloc(1, sizeof *tensors);
    if (!tensors) return NULL;
    if (!get_arrays(tensors, count, arena)) {
        free(tensors);
        return NULL;
    }
    memset(tensors->buffers, 0, count * sizeof(sw_buffer *));
    tensors->count = count;
    tensors->arena = *arena;
    arena_init(arena, &allocator_system, 0);
    return tensors;
}

const sw_address *sw_tensors_address(const sw_tensors *tensors) {
    return &tensors->address;
}

uint32_t sw_tensors_count(const sw_tensors *tensors) {
    return tensors->count;
}

const char *sw_tensors_name(const sw_tensors *tensors, uint32_t index) {
    return index < tensors->count ? tensors->names[index] : NULL;
}

const sw_tensor_view *sw_tensors_view(const sw_tensors *tensors, uint32_t index) {
    return index < tensors->count ? &tensors->views[index] : NULL;
}

const sw_tensor_view *sw_tensors_find(const sw_tensors *tensors, const char *name) {
    int64_t index = names_find(&tensors->by_name, name);
    return index < 0 ? NULL : &tensors->views[index];
}

sw_buffer *sw_tensors_buffer(const sw_tensors *tensors, uint32_t index) {
    if (index >= tensors->count || !tensors->buffers[index]) return NULL;
    return sw_buffer_ref(tensors->buffers[index]);
}

int64_t sw_tensors_published_unix_ns(const sw_tensors *tensors) {
    return tensors->published_unix_ns;
}

void sw_tensors_destroy(sw_tensors *tensors) {
    if (!tensors) return;
    for (uint32_t i = 0; i < tensors->count; i++) sw_buffer_unref(tensors->buffers[i]);
    names_destroy(&tensors->by_name);
    arena_destroy(&tensors->arena);
    free(tensors);
}
