/* Which blocks of a tensor have arrived, and their hashes. */
#ifndef STAGEWIRE_CLIENT_CORE_BLOCKS_H
#define STAGEWIRE_CLIENT_CORE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/allocator.h"

struct blocks {
    uint64_t count, arrived;
    uint64_t *hashes; /* one a block; valid where it has arrived */
    uint64_t *seen;   /* a bit a block */
    const struct allocator *allocator;
};

enum block_news { BLOCK_NEW, BLOCK_SAME_AGAIN, BLOCK_CONTRADICTS };

/* False without memory. */
bool blocks_init(struct blocks *blocks, uint64_t count, const struct allocator *allocator);
void blocks_destroy(struct blocks *blocks); /* takes a zeroed one */

/* `block` is below count. A block that comes again must be the same by its hash, and counts once. */
enum block_news blocks_take(struct blocks *blocks, uint64_t block, uint64_t hash);

bool blocks_have(const struct blocks *blocks, uint64_t block);

/* The next run of missing blocks from *cursor on, which starts at 0; false if there is none. */
bool blocks_next_missing(const struct blocks *blocks, uint64_t *cursor, uint64_t *ret_first,
                         uint64_t *ret_count);

#endif
