#include <stdint.h>
#include <string.h>

#include "proto/wire/arena.h"
#include "tests/support/test.h"
#include "tests/unit/wire/failing.h"

Test(arena, memory_is_aligned_and_does_not_overlap) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 64u << 20);
    static unsigned char *got[4000];
    for (size_t i = 0; i < 4000; i++) {
        got[i] = arena_get(&arena, i);
        cr_assert_not_null(got[i]);
        cr_assert_eq((uintptr_t)got[i] % _Alignof(max_align_t), 0);
        memset(got[i], (int)i, i);
    }
    for (size_t i = 1; i < 4000; i++) {
        cr_assert_eq(got[i][0], (unsigned char)i);
        cr_assert_eq(got[i][i - 1], (unsigned char)i);
    }
    arena_destroy(&arena);
}

Test(arena, the_budget_ends_before_the_memory_does) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 100);
    cr_assert_not_null(arena_get(&arena, 64));
    cr_assert_not(arena.over_budget);
    cr_assert_null(arena_get(&arena, 64));
    cr_assert(arena.over_budget);
    cr_assert_not_null(arena_get(&arena, 16));
    cr_assert_null(arena_get(&arena, SIZE_MAX));
    cr_assert_null(arena_get_array(&arena, SIZE_MAX / 2, 3));
    arena_destroy(&arena);
}

Test(arena, memory_that_ends_is_no_budget) {
    struct failing failing;
    failing_init(&failing, 1);
    struct arena arena;
    arena_init(&arena, &failing.allocator, SIZE_MAX);
    cr_assert_not_null(arena_get(&arena, 4096));
    cr_assert_null(arena_get(&arena, 4096));
    cr_assert_not(arena.over_budget);
    arena_destroy(&arena);
    cr_assert_eq(failing.out, 0);
    arena_destroy(&arena);
}

Test(arena, strings_end_in_nul) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 1000);
    cr_assert_str_eq(arena_string(&arena, "abcdef", 3), "abc");
    cr_assert_str_eq(arena_string(&arena, NULL, 0), "");
    arena_destroy(&arena);
}
