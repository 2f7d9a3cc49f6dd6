#include <string.h>

#include "client/core/runs.h"
#include "proto/base/buffer.h"
#include "tests/support/test.h"
#include "tests/unit/client_core/stream.h"

enum { TENSORS = 4, FIRST = 5, THIRD = 1, LAST = 3 };
static const uint64_t sizes[] = {(FIRST - 1) * STREAM_BLOCK + 17, 0, 1, LAST *STREAM_BLOCK};
enum { ALL = (FIRST - 1) * STREAM_BLOCK + 17 + 1 + LAST * STREAM_BLOCK };

static struct item item;
static struct wishes wishes;
static struct parts parts;
static struct runs left, share;
static sw_error error;

static void set_up(void) {
    item_create(&item, sizes, TENSORS, 0);
    cr_assert_eq(wishes_init(&wishes, NULL, 0, &error), SW_OK);
    cr_assert_eq(parts_init(&parts, &wishes, &item.manifest, buffer_create, &allocator_system, &error),
                 SW_OK);
    cr_assert(runs_missing(&parts, &left));
}

static void tear_down(void) {
    runs_destroy(&left);
    runs_destroy(&share);
    parts_destroy(&parts);
    wishes_destroy(&wishes);
    item_destroy(&item);
}

TestSuite(runs, .init = set_up, .fini = tear_down);

static void take(uint64_t bytes) {
    cr_assert(runs_take(&parts, &left, bytes, &share));
}

static void expect_run(uint32_t place, uint32_t part, uint64_t first, uint64_t count) {
    cr_assert_lt(place, share.count);
    cr_assert_eq(share.runs[place].part, part);
    cr_assert_eq(share.runs[place].first, first);
    cr_assert_eq(share.runs[place].count, count);
}

static void arrive(uint32_t part, uint64_t block) {
    blocks_take(&parts.parts[part].blocks, block, block);
}

Test(runs, all_that_is_missing_is_left_in_the_order_of_the_tensors) {
    cr_assert_eq(left.bytes, ALL);
    take(UINT64_MAX);
    cr_assert_eq(share.count, 3);
    expect_run(0, 0, 0, FIRST);
    expect_run(1, 2, 0, THIRD);
    expect_run(2, 3, 0, LAST);
    cr_assert_eq(share.bytes, ALL);
    cr_assert_eq(left.bytes, 0);
    cr_assert_eq(left.count, 0);
}

Test(runs, a_share_ends_with_the_block_that_reaches_its_bytes) {
    take(STREAM_BLOCK + 1);
    cr_assert_eq(share.count, 1);
    expect_run(0, 0, 0, 2);
    cr_assert_eq(share.bytes, 2 * STREAM_BLOCK);
    cr_assert_eq(left.bytes, ALL - 2 * STREAM_BLOCK);
}

Test(runs, a_share_goes_over_from_a_tensor_to_the_next) {
    take((FIRST - 1) * STREAM_BLOCK + 17 + 1 + 1);
    cr_assert_eq(share.count, 3);
    expect_run(2, 3, 0, 1);
    cr_assert_eq(left.bytes, (LAST - 1) * STREAM_BLOCK);
}

Test(runs, shares_one_after_the_other_are_all_and_each_block_once) {
    unsigned taken[FIRST + THIRD + LAST] = {0};
    for (int i = 0; i < 20; i++) {
        take(STREAM_BLOCK * 2 - 5);
        for (uint32_t k = 0; k < share.count; k++)
            for (uint64_t block = 0; block < share.runs[k].count; block++)
                taken[(share.runs[k].part == 0   ? 0
                       : share.runs[k].part == 2 ? FIRST
                                                 : FIRST + THIRD) +
                      share.runs[k].first + block]++;
        runs_destroy(&share);
    }
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) cr_assert_eq(taken[i], 1);
}

Test(runs, what_of_a_share_did_not_come_is_next_to_be_taken) {
    take(4 * STREAM_BLOCK);
    arrive(0, 0);
    arrive(0, 1);
    cr_assert(runs_give_back(&parts, &left, &share));
    cr_assert_eq(share.count, 0);
    cr_assert_eq(share.bytes, 0);
    cr_assert_eq(left.bytes, ALL - 2 * STREAM_BLOCK);
    take(STREAM_BLOCK);
    expect_run(0, 0, 2, 1);
}

Test(runs, several_runs_are_given_back_in_their_order) {
    take(UINT64_MAX);
    arrive(2, 0);
    cr_assert(runs_give_back(&parts, &left, &share));
    take(UINT64_MAX);
    cr_assert_eq(share.count, 2);
    expect_run(0, 0, 0, FIRST);
    expect_run(1, 3, 0, LAST);
}

Test(runs, a_share_that_came_whole_leaves_nothing) {
    take(2 * STREAM_BLOCK);
    arrive(0, 0);
    arrive(0, 1);
    cr_assert(runs_give_back(&parts, &left, &share));
    cr_assert_eq(left.bytes, ALL - 2 * STREAM_BLOCK);
}

Test(runs, a_share_is_asked_for_by_names_and_blocks) {
    const struct tensor_range *ranges;
    uint32_t count;
    struct arena arena;
    arena_init(&arena, &allocator_system, 1 << 20);
    take(STREAM_BLOCK);
    runs_destroy(&share);
    take(UINT64_MAX);
    cr_assert_eq(runs_ranges(&share, &parts, &item.manifest, &arena, &ranges, &count, &error), SW_OK);
    cr_assert_eq(count, 3);
    cr_assert_str_eq(ranges[0].name, item.infos[0].name);
    cr_assert_eq(ranges[0].first_block, 1);
    cr_assert_eq(ranges[0].block_count, FIRST - 1);
    cr_assert_str_eq(ranges[2].name, item.infos[3].name);
    cr_assert_eq(ranges[2].block_count, LAST);
    arena_destroy(&arena);
}

Test(runs, what_of_a_share_has_not_come_is_left_once_more_and_the_last_block_is_taken_first) {
    take(UINT64_MAX);
    arrive(0, 0);
    arrive(3, 1);
    cr_assert_eq(runs_missing_bytes(&parts, &share), ALL - 2 * STREAM_BLOCK);
    cr_assert(runs_double(&parts, &left, &share));
    cr_assert_eq(left.bytes, ALL - 2 * STREAM_BLOCK);
    cr_assert_eq(share.bytes, ALL, "it stays who brings it");
    runs_destroy(&share);
    take(2 * STREAM_BLOCK + 2);
    expect_run(0, 3, 2, 1);
    expect_run(1, 3, 0, 1);
    expect_run(2, 2, 0, 1);
    expect_run(3, 0, 4, 1);
}

Test(runs, given_back_are_the_blocks_that_did_not_come_and_no_others) {
    take(UINT64_MAX);
    for (uint64_t block = 1; block < FIRST; block += 2) arrive(0, block);
    arrive(3, 0);
    cr_assert(runs_give_back(&parts, &left, &share));
    take(UINT64_MAX);
    cr_assert_eq(share.count, 5);
    expect_run(0, 0, 0, 1);
    expect_run(1, 0, 2, 1);
    expect_run(2, 0, 4, 1);
    expect_run(3, 2, 0, THIRD);
    expect_run(4, 3, 1, LAST - 1);
}

static void *no_memory(void *context, void *memory, size_t size) {
    (void)context, (void)memory, (void)size;
    return NULL;
}

Test(runs, without_memory_for_a_share_nothing_is_taken_and_it_says_so) {
    struct allocator none = allocator_system;
    none.resize = no_memory;
    parts.allocator = &none;
    cr_assert_not(runs_take(&parts, &left, STREAM_BLOCK, &share));
    cr_assert_eq(share.count, 0);
    cr_assert_eq(left.bytes, ALL);
    struct runs again = {0};
    cr_assert_not(runs_missing(&parts, &again));
    parts.allocator = &allocator_system;
}
