#include <stdlib.h>
#include <string.h>

#include "proto/base/copy.h"
#include "tests/support/test.h"

#define ROOM 512

static uint8_t from[ROOM], to[ROOM];

static void fill(uint8_t *bytes, unsigned seed) {
    for (size_t i = 0; i < ROOM; i++) bytes[i] = (uint8_t)(i * 31 + seed);
}

static void expect_copied(size_t place, size_t offset, size_t size, uint64_t whole) {
    uint8_t expected[ROOM];
    fill(to, 100);
    memcpy(expected, to, ROOM);
    memcpy(expected + place, from + offset, size);
    copy_into(to + place, from + offset, size, whole);
    cr_assert_eq(memcmp(to, expected, ROOM), 0, "%zu bytes from %zu to %zu of %llu", size, offset, place,
                 (unsigned long long)whole);
}

Test(copy, all_arrives_and_nothing_beside_it_is_written_wherever_it_lies_and_however_large_the_whole_is) {
    static const uint64_t wholes[] = {0, ROOM, UINT64_C(1) << 40};
    fill(from, 1);
    for (size_t w = 0; w < 3; w++)
        for (size_t size = 0; size <= 200; size++)
            for (size_t place = 0; place < 64; place += 7)
                for (size_t offset = 0; offset < 64; offset += 13)
                    expect_copied(place, offset, size, wholes[w]);
}
