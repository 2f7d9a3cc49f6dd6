#include "proto/wire/repeated.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

struct texts {
    const char *first;
    size_t stride, count;
};

struct slot {
    uint64_t hash;
    const sw_bytes *text;
};

static const sw_bytes *text_at(const struct texts *texts, size_t index) {
    return (const sw_bytes *)(const void *)(texts->first + index * texts->stride);
}

static bool equal(const sw_bytes *a, const sw_bytes *b) {
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* Texts that collide on purpose would make a table slow: nobody outside knows the seed. */
static uint64_t table_seed(void) {
    static _Atomic uint64_t seed;
    uint64_t known = atomic_load_explicit(&seed, memory_order_relaxed);
    if (known != 0) return known;
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) drawn = (uintptr_t)&seed;
    drawn |= 1;
    return atomic_compare_exchange_strong(&seed, &known, drawn) ? drawn : known;
}

static size_t compare_each(const struct texts *texts) {
    for (size_t i = 1; i < texts->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (equal(text_at(texts, i), text_at(texts, j))) return i;
        }
    }
    return texts->count;
}

static size_t compare_hashed(const struct texts *texts, struct slot *slots, size_t mask) {
    uint64_t seed = table_seed();
    for (size_t i = 0; i < texts->count; i++) {
        const sw_bytes *text = text_at(texts, i);
        uint64_t hash = XXH3_64bits_withSeed(text->data, text->size, seed);
        size_t at = (size_t)hash & mask;
        for (; slots[at].text; at = (at + 1) & mask) {
            if (slots[at].hash == hash && equal(slots[at].text, text)) return i;
        }
        slots[at] = (struct slot){hash, text};
    }
    return texts->count;
}

/* Up to here comparing each with each is faster than a table. */
#define FEW 12

bool repeated_find(const sw_bytes *first, size_t stride, size_t count, const struct allocator *allocator,
                   size_t *ret_index) {
    struct texts texts = {(const char *)first, stride, count};
    if (count <= FEW) {
        *ret_index = compare_each(&texts);
        return true;
    }
    size_t size = 32;
    while (size < 2 * count) size *= 2;
    struct slot *slots = allocator_get_zeroed(allocator, size * sizeof *slots);
    if (!slots) return false;
    *ret_index = compare_hashed(&texts, slots, size - 1);
    allocator_put(allocator, slots);
    return true;
}
