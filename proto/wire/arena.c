#include "proto/wire/arena.h"

#include <stdint.h>
#include <string.h>

#define FIRST_BLOCK   (4u << 10)
#define LARGEST_BLOCK (1u << 20)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char data[];
};

void arena_init(struct arena *arena, const struct allocator *allocator, size_t budget) {
    *arena = (struct arena){.allocator = allocator, .budget = budget};
}

void arena_destroy(struct arena *arena) {
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        allocator_put(arena->allocator, block);
    }
    arena->blocks = NULL;
    arena->used = 0;
}

/* Blocks double, so that a large message takes few of them and a small one little. */
static size_t next_block_size(const struct arena *arena, size_t size) {
    size_t next = arena->blocks ? 2 * arena->blocks->size : FIRST_BLOCK;
    if (next > LARGEST_BLOCK) next = LARGEST_BLOCK;
    return size > next ? size : next;
}

static struct arena_block *add_block(struct arena *arena, size_t size) {
    size = next_block_size(arena, size);
    struct arena_block *block = allocator_get(arena->allocator, sizeof *block + size);
    if (!block) return NULL;
    *block = (struct arena_block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

void *arena_get(struct arena *arena, size_t size) {
    const size_t align = _Alignof(max_align_t);
    size_t bytes = size == 0 ? align : (size + align - 1) & ~(align - 1);
    if (bytes < size || bytes > arena->budget - arena->used) {
        arena->over_budget = true;
        return NULL;
    }
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) block = add_block(arena, bytes);
    if (!block) return NULL;
    void *memory = block->data + block->used;
    block->used += bytes;
    arena->used += bytes;
    return memory;
}

void *arena_get_array(struct arena *arena, size_t count, size_t size) {
    size_t bytes;
    return arena_get(arena, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
}

char *arena_string(struct arena *arena, const char *data, size_t size) {
    char *string = size < SIZE_MAX ? arena_get(arena, size + 1) : NULL;
    if (!string) return NULL;
    if (size > 0) memcpy(string, data, size);
    string[size] = '\0';
    return string;
}
