#include "proto/wire/value_tree.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

#include "proto/base/error.h"
#include "proto/base/utf8.h"

sw_status value_check_text(sw_bytes text, const char *what, const struct path *path, sw_error *error) {
    if (!text.data && text.size > 0) return malformed(error, path, "has %s without its bytes", what);
    if (utf8_valid(text.data, text.size)) return SW_OK;
    return malformed(error, path, "has %s that is not UTF-8; bytes that are no text travel as a blob", what);
}

sw_status value_check_tensor(const sw_tensor_view *tensor, const struct path *path, sw_error *error) {
    uint64_t bytes;
    if (sw_dtype_size(tensor->dtype) == 0)
        return malformed(error, path, "is a tensor of type %d, which this version does not know",
                         (int)tensor->dtype);
    if (tensor->rank > SW_TENSOR_RANK_MAX)
        return malformed(error, path, "is a tensor of rank %" PRIu32 "; at most %d can be sent", tensor->rank,
                         SW_TENSOR_RANK_MAX);
    if (tensor->rank > 0 && !tensor->shape) return malformed(error, path, "is a tensor without its shape");
    if (!sw_tensor_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes))
        return malformed(error, path, "is a tensor with a shape that is negative or beyond all memory");
    if (bytes != tensor->size)
        return malformed(error, path, "is a tensor of %zu bytes where shape and type say %" PRIu64,
                         tensor->size, bytes);
    if (bytes > 0 && !tensor->data) return malformed(error, path, "is a tensor without its bytes");
    return SW_OK;
}

sw_status value_check_depth(unsigned depth, const struct path *path, sw_error *error) {
    if (depth < SW_VALUE_DEPTH_MAX) return SW_OK;
    return malformed(error, path, "nests deeper than %d levels; flatten it, or send it as bytes",
                     SW_VALUE_DEPTH_MAX);
}

/* Keys that collide on purpose would make a table slow: nobody outside knows the seed. */
static uint64_t table_seed(void) {
    static _Atomic uint64_t seed;
    uint64_t known = atomic_load_explicit(&seed, memory_order_relaxed);
    if (known != 0) return known;
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn) drawn = (uintptr_t)&seed;
    drawn |= 1;
    return atomic_compare_exchange_strong(&seed, &known, drawn) ? drawn : known;
}

static bool same_key(const sw_entry *a, const sw_entry *b) {
    return a->key.size == b->key.size &&
           (a->key.size == 0 || memcmp(a->key.data, b->key.data, a->key.size) == 0);
}

static sw_status key_twice(const sw_entry *entry, const struct path *path, sw_error *error) {
    struct path key = path_key(path, entry->key.data, entry->key.size);
    return malformed(error, &key, "is there twice; a dict has each key once");
}

static sw_status compare_each(const sw_entry *entries, size_t count, const struct path *path,
                              sw_error *error) {
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (same_key(&entries[i], &entries[j])) return key_twice(&entries[i], path, error);
        }
    }
    return SW_OK;
}

struct slot {
    uint64_t hash;
    const sw_entry *entry;
};

static sw_status compare_hashed(const sw_entry *entries, size_t count, struct slot *slots, size_t mask,
                                const struct path *path, sw_error *error) {
    uint64_t seed = table_seed();
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = XXH3_64bits_withSeed(entries[i].key.data, entries[i].key.size, seed);
        size_t at = (size_t)hash & mask;
        for (; slots[at].entry; at = (at + 1) & mask) {
            if (slots[at].hash == hash && same_key(slots[at].entry, &entries[i]))
                return key_twice(&entries[i], path, error);
        }
        slots[at] = (struct slot){hash, &entries[i]};
    }
    return SW_OK;
}

/* Up to here comparing each with each is faster than a table. */
#define FEW_KEYS 12

sw_status value_check_keys(const sw_entry *entries, size_t count, const struct path *path,
                           const struct allocator *allocator, sw_error *error) {
    if (count <= FEW_KEYS) return compare_each(entries, count, path, error);
    size_t size = 32;
    while (size < 2 * count) size *= 2;
    struct slot *slots = allocator_get_zeroed(allocator, size * sizeof *slots);
    if (!slots) return error_no_memory(error);
    sw_status status = compare_hashed(entries, count, slots, size - 1, path, error);
    allocator_put(allocator, slots);
    return status;
}
