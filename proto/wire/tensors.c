#include "proto/wire/tensors.h"

#include <stdatomic.h>
#include <string.h>

#include "proto/wire/arena.h"
#include "proto/wire/digests.h"

/* What is behind a tensor_set: everything lives in the arena, the set itself too. */
struct counted_set {
    struct tensor_set set; /* first: the two share an address */
    _Atomic size_t references;
    struct arena arena;
    uint32_t *slots; /* 1 + index, by hash of the name; 0 is free */
    uint32_t slot_mask;
};

uint64_t tensor_blocks(uint64_t byte_length, uint32_t block_bytes) {
    return byte_length / block_bytes + (byte_length % block_bytes != 0);
}

uint32_t tensor_block_size(uint64_t byte_length, uint32_t block_bytes, uint64_t block) {
    uint64_t left = byte_length - block * block_bytes;
    return left < block_bytes ? (uint32_t)left : block_bytes;
}

static bool same_name(const struct tensor *tensor, const char *name, size_t size) {
    return strlen(tensor->info.name) == size && memcmp(tensor->info.name, name, size) == 0;
}

static uint32_t *slot_of(const struct counted_set *counted, const char *name, size_t size) {
    uint32_t at = (uint32_t)block_hash(name, size) & counted->slot_mask;
    while (counted->slots[at] != 0 && !same_name(&counted->set.tensors[counted->slots[at] - 1], name, size))
        at = (at + 1) & counted->slot_mask;
    return &counted->slots[at];
}

int64_t tensor_set_find(const struct tensor_set *set, const char *name, size_t size) {
    return (int64_t)*slot_of((const struct counted_set *)set, name, size) - 1;
}

static bool copy_tensor(struct arena *arena, struct tensor *to, const struct tensor_info *from,
                        uint32_t block_bytes) {
    uint64_t blocks = tensor_blocks(from->byte_length, block_bytes);
    char *name = arena_string(arena, from->name, strlen(from->name));
    int64_t *shape = arena_get_array(arena, from->rank, sizeof *shape);
    uint64_t *hashes = arena_get_array(arena, blocks, sizeof *hashes);
    if (!name || !shape || !hashes) return false;
    if (from->rank > 0) memcpy(shape, from->shape, from->rank * sizeof *shape);
    memset(hashes, 0, blocks * sizeof *hashes);
    *to = (struct tensor){.info = *from, .block_hashes = hashes};
    to->info.name = name;
    to->info.shape = shape;
    return true;
}

static bool make_slots(struct counted_set *counted) {
    uint32_t slots = 4;
    while (slots / 2 < counted->set.count) slots *= 2;
    counted->slots = arena_get_array(&counted->arena, slots, sizeof *counted->slots);
    if (!counted->slots) return false;
    memset(counted->slots, 0, slots * sizeof *counted->slots);
    counted->slot_mask = slots - 1;
    return true;
}

static bool fill_set(struct counted_set *counted, const struct tensor_info *infos) {
    struct tensor_set *set = &counted->set;
    set->tensors = arena_get_array(&counted->arena, set->count, sizeof *set->tensors);
    if (!set->tensors || !make_slots(counted)) return false;
    for (uint32_t i = 0; i < set->count; i++) {
        if (!copy_tensor(&counted->arena, &set->tensors[i], &infos[i], set->block_bytes)) return false;
        uint32_t *slot = slot_of(counted, infos[i].name, strlen(infos[i].name));
        if (*slot == 0) *slot = i + 1;
        if (__builtin_add_overflow(set->byte_length, infos[i].byte_length, &set->byte_length))
            set->byte_length = UINT64_MAX;
    }
    return true;
}

struct tensor_set *tensor_set_create(const struct tensor_info *infos, uint32_t count, uint32_t block_bytes,
                                     const struct allocator *allocator) {
    struct arena arena;
    arena_init(&arena, allocator, SIZE_MAX);
    struct counted_set *counted = arena_get(&arena, sizeof *counted);
    if (!counted) return NULL;
    *counted = (struct counted_set){.set = {.count = count, .block_bytes = block_bytes}, .arena = arena};
    atomic_init(&counted->references, 1);
    if (fill_set(counted, infos)) return &counted->set;
    arena = counted->arena;
    arena_destroy(&arena);
    return NULL;
}

struct tensor_set *tensor_set_ref(struct tensor_set *set) {
    atomic_fetch_add_explicit(&((struct counted_set *)set)->references, 1, memory_order_relaxed);
    return set;
}

void tensor_set_unref(struct tensor_set *set) {
    struct counted_set *counted = (struct counted_set *)set;
    if (!set || atomic_fetch_sub_explicit(&counted->references, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < set->count; i++) sw_buffer_unref(set->tensors[i].bytes);
    struct arena arena = counted->arena;
    arena_destroy(&arena);
}

/* Names are unique, so that a sum of their digests, which knows no order, stands for all. */
struct digest tensor_set_digest(const struct tensor_set *set) {
    struct digest sum = {0, 0};
    for (uint32_t i = 0; i < set->count; i++) {
        const struct tensor_info *info = &set->tensors[i].info;
        uint64_t parts[4] = {(uint64_t)info->dtype, info->rank, info->byte_length, info->digest};
        struct digest digest = digest_of_bytes(DIGEST_TENSOR_NAME, info->name, strlen(info->name));
        digest = digest_join(digest, digest_of_bytes(DIGEST_TENSOR_PARTS, parts, sizeof parts));
        digest = digest_join(
            digest, digest_of_bytes(DIGEST_TENSOR_SHAPE, info->shape, info->rank * sizeof *info->shape));
        sum = digest_sum(sum, digest);
    }
    uint64_t frame[4] = {set->count, set->block_bytes, sum.low, sum.high};
    return digest_of_bytes(DIGEST_TENSOR_SET, frame, sizeof frame);
}
