#include "client/core/blocks.h"
#include "tests/support/test.h"

Test(blocks, each_counts_once_and_must_be_the_same_if_it_comes_again) {
    struct blocks blocks;
    cr_assert(blocks_init(&blocks, 3, &allocator_system));
    cr_assert_eq(blocks_take(&blocks, 1, 11), BLOCK_NEW);
    cr_assert_eq(blocks_take(&blocks, 1, 11), BLOCK_SAME_AGAIN);
    cr_assert_eq(blocks_take(&blocks, 1, 12), BLOCK_CONTRADICTS);
    cr_assert_eq(blocks.arrived, 1);
    cr_assert_eq(blocks.hashes[1], 11);
    blocks_destroy(&blocks);
}

/* Every pattern of 130 blocks in which three runs are missing is found again as it was made. */
Test(blocks, what_is_missing_is_found_as_runs) {
    enum { COUNT = 130 };
    for (uint64_t first = 0; first < COUNT; first += 7) {
        for (uint64_t size = 1; first + size <= COUNT; size += 13) {
            struct blocks blocks;
            cr_assert(blocks_init(&blocks, COUNT, &allocator_system));
            for (uint64_t i = 0; i < COUNT; i++)
                if (i < first || i >= first + size) blocks_take(&blocks, i, i);
            uint64_t cursor = 0, found, count;
            cr_assert(blocks_next_missing(&blocks, &cursor, &found, &count));
            cr_assert_eq(found, first);
            cr_assert_eq(count, size);
            cr_assert_not(blocks_next_missing(&blocks, &cursor, &found, &count));
            blocks_destroy(&blocks);
        }
    }
}

Test(blocks, a_tensor_without_blocks_lacks_none) {
    struct blocks blocks;
    uint64_t cursor = 0, first, count;
    cr_assert(blocks_init(&blocks, 0, &allocator_system));
    cr_assert_not(blocks_next_missing(&blocks, &cursor, &first, &count));
    blocks_destroy(&blocks);
}

Test(blocks, a_number_that_cannot_be_is_no_memory) {
    struct blocks blocks;
    cr_assert_not(blocks_init(&blocks, UINT64_MAX, &allocator_system));
}
