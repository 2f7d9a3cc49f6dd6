#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/base/pages.h"
#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define KEEPS 0 /* so that AddressSanitizer sees what is used too late */
#else
#define KEEPS 1
#endif

enum { MIB = 1 << 20 };

static void *got(size_t size) {
    unsigned char *pages = pages_get(size);
    cr_assert_not_null(pages);
    cr_assert_eq((uintptr_t)pages % 4096, 0);
    pages[0] = pages[size - 1] = 1;
    return pages;
}

Test(pages, they_can_be_written_whatever_their_size) {
    for (size_t size = 1; size < 100 * (size_t)MIB; size = size * 5 / 3 + 1) {
        void *pages = got(size);
        memset(pages, 0x5a, size);
        pages_put(pages, size);
    }
}

Test(pages, what_was_given_back_is_got_again) {
    if (!KEEPS) return;
    void *first = got(3 * MIB), *second = got(3 * MIB);
    pages_put(first, 3 * MIB);
    cr_assert_eq(got(3 * MIB - 5000), first, "also by about the same size");
    pages_put(second, 3 * MIB);
    cr_assert_eq(pages_kept(), 3 * MIB);
    pages_put(first, 3 * MIB - 5000);
    cr_assert_eq(got(3 * MIB), first, "the last that was given back is the first");
    cr_assert_eq(pages_kept(), 3 * MIB);
}

Test(pages, no_more_is_kept_than_the_limit) {
    if (!KEEPS) return;
    const size_t half = (LIMIT_KEPT_PAGES / 2) + MIB;
    void *first = got(half), *second = got(half);
    pages_put(first, half);
    pages_put(second, half);
    cr_assert(pages_kept() >= half && pages_kept() <= LIMIT_KEPT_PAGES);
}

Test(pages, what_is_kept_and_in_use_is_never_more_than_was_in_use_at_once) {
    if (!KEEPS) return;
    void *large = got(64 * MIB);
    pages_put(large, 64 * MIB);
    cr_assert_eq(pages_kept(), 64 * MIB);
    void *small = got(MIB);
    cr_assert_eq(pages_kept(), 0, "the large one went so that the small one has room");
    pages_put(small, MIB);
    void *other[63];
    for (int i = 0; i < 63; i++) other[i] = got(MIB);
    for (int i = 0; i < 63; i++) pages_put(other[i], MIB);
    cr_assert_eq(pages_kept(), 63 * MIB);
    large = got(32 * MIB);
    cr_assert_eq(pages_kept(), 32 * MIB, "no more went than had to");
    pages_put(large, 32 * MIB);
}

Test(pages, sizes_beyond_all_memory_are_refused_and_leave_nothing) {
    cr_assert_null(pages_get(SIZE_MAX));
    cr_assert_null(pages_get(SIZE_MAX / 2 + 2));
    if (KEEPS) cr_assert_null(pages_get(SIZE_MAX / 4));
    void *large = got(8 * MIB);
    pages_put(large, 8 * MIB);
    void *small = got(MIB);
    cr_assert_eq(pages_kept(), 0, "what was refused was never in use");
    pages_put(small, MIB);
    cr_assert_eq(pages_kept(), KEEPS ? MIB : 0);
}

enum { THREADS = 4, ROUNDS = 400, HELD = 8 };

/* Whoever holds pages writes all of them: two holders of one would see each other's. */
static void *take_and_give_back(void *seed) {
    unsigned state = (unsigned)(uintptr_t)seed;
    unsigned char *held[HELD] = {0};
    size_t sizes[HELD] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        state = state * 1103515245u + 12345u;
        unsigned i = (state >> 16) % HELD;
        if (held[i]) {
            for (size_t at = 0; at < sizes[i]; at += 4096)
                if (held[i][at] != (unsigned char)(uintptr_t)seed) abort();
            pages_put(held[i], sizes[i]);
            held[i] = NULL;
            continue;
        }
        sizes[i] = 4096 + (state >> 8) % (256u << 10);
        held[i] = pages_get(sizes[i]);
        if (!held[i]) abort();
        memset(held[i], (int)(uintptr_t)seed, sizes[i]);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i]) pages_put(held[i], sizes[i]);
    return NULL;
}

Test(pages, each_is_held_by_one_thread_at_a_time) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, take_and_give_back, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}
