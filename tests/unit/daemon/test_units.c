/* Sizes, durations and numbers: strict, and never overflowing. */
#include <stdint.h>

#include "service/daemon/units.h"
#include "tests/support/test.h"

static uint64_t bytes(const char *text) {
    uint64_t ret = 77;
    return parse_bytes(text, &ret) ? ret : UINT64_MAX;
}

static int64_t milliseconds(const char *text) {
    int64_t ret = 77;
    return parse_milliseconds(text, &ret) ? ret : -1;
}

Test(units, a_size_counts_in_1024s) {
    cr_assert_eq(bytes("0"), 0);
    cr_assert_eq(bytes("1179648"), 1179648);
    cr_assert_eq(bytes("1k"), 1024);
    cr_assert_eq(bytes("512m"), 512ull << 20);
    cr_assert_eq(bytes("2g"), 2ull << 30);
    cr_assert_eq(bytes("16777215t"), 16777215ull << 40);
}

Test(units, what_is_no_size_is_refused) {
    const char *const wrong[] = {"",
                                 "g",
                                 "12x",
                                 "-1",
                                 "+1",
                                 " 1",
                                 "1 ",
                                 "1.5g",
                                 "1G",
                                 "1gb",
                                 "0x10",
                                 "16777216t",
                                 "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t untouched = 5;
        cr_assert(!parse_bytes(wrong[i], &untouched), "%s", wrong[i]);
        cr_assert_eq(untouched, 5);
    }
}

Test(units, a_duration_has_a_unit) {
    cr_assert_eq(milliseconds("0"), 0);
    cr_assert_eq(milliseconds("500ms"), 500);
    cr_assert_eq(milliseconds("30s"), 30000);
    cr_assert_eq(milliseconds("10m"), 600000);
    cr_assert_eq(milliseconds("1h"), 3600000);
    const char *const wrong[] = {
        "", "s", "30", "1d", "-1s", "1.5s", "30 s", "9223372036854775808ms", "99999999999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(milliseconds(wrong[i]), -1, "%s", wrong[i]);
}

Test(units, a_number_stays_within_its_bound) {
    uint64_t ret;
    cr_assert(parse_number("4294967295", UINT32_MAX, &ret) && ret == UINT32_MAX);
    cr_assert(!parse_number("4294967296", UINT32_MAX, &ret));
    cr_assert(parse_number("18446744073709551615", UINT64_MAX, &ret) && ret == UINT64_MAX);
    cr_assert(!parse_number("18446744073709551616", UINT64_MAX, &ret));
    cr_assert(!parse_number("", UINT64_MAX, &ret));
    cr_assert(!parse_number("3 ", UINT64_MAX, &ret));
}
