#include "client/core/blocks.h"

#include <string.h>

#define WORD_BITS 64

bool blocks_init(struct blocks *blocks, uint64_t count, const struct allocator *allocator) {
    memset(blocks, 0, sizeof *blocks);
    if (count > SIZE_MAX / sizeof(uint64_t) - 1) return false;
    blocks->allocator = allocator;
    blocks->hashes = allocator_get(allocator, (count ? count : 1) * sizeof *blocks->hashes);
    if (!blocks->hashes) return false;
    blocks->seen = allocator_get_zeroed(allocator, (count / WORD_BITS + 1) * sizeof *blocks->seen);
    if (!blocks->seen) {
        blocks_destroy(blocks);
        return false;
    }
    blocks->count = count;
    return true;
}

void blocks_destroy(struct blocks *blocks) {
    if (blocks->hashes) allocator_put(blocks->allocator, blocks->hashes);
    if (blocks->seen) allocator_put(blocks->allocator, blocks->seen);
    memset(blocks, 0, sizeof *blocks);
}

bool blocks_have(const struct blocks *blocks, uint64_t block) {
    return blocks->seen[block / WORD_BITS] >> (block % WORD_BITS) & 1;
}

enum block_news blocks_take(struct blocks *blocks, uint64_t block, uint64_t hash) {
    if (blocks_have(blocks, block))
        return blocks->hashes[block] == hash ? BLOCK_SAME_AGAIN : BLOCK_CONTRADICTS;
    blocks->seen[block / WORD_BITS] |= UINT64_C(1) << (block % WORD_BITS);
    blocks->hashes[block] = hash;
    blocks->arrived++;
    return BLOCK_NEW;
}

static uint64_t skip_seen(const struct blocks *blocks, uint64_t block) {
    while (block < blocks->count) {
        if (block % WORD_BITS == 0 && blocks->seen[block / WORD_BITS] == UINT64_MAX)
            block += WORD_BITS;
        else if (blocks_have(blocks, block))
            block++;
        else
            break;
    }
    return block < blocks->count ? block : blocks->count;
}

static uint64_t skip_missing(const struct blocks *blocks, uint64_t block) {
    while (block < blocks->count) {
        if (block % WORD_BITS == 0 && blocks->seen[block / WORD_BITS] == 0)
            block += WORD_BITS;
        else if (!blocks_have(blocks, block))
            block++;
        else
            break;
    }
    return block < blocks->count ? block : blocks->count;
}

bool blocks_next_missing(const struct blocks *blocks, uint64_t *cursor, uint64_t *ret_first,
                         uint64_t *ret_count) {
    uint64_t first = skip_seen(blocks, *cursor);
    if (first == blocks->count) return false;
    *cursor = skip_missing(blocks, first);
    *ret_first = first;
    *ret_count = *cursor - first;
    return true;
}
