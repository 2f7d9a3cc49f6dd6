#include "client/cli/progress.h"

#include <string.h>

#include "tests/support/test.h"

static char line[160];

static const char *shown(uint64_t done, uint64_t total, int64_t taken_ms, unsigned columns) {
    progress_line(line, sizeof line, done, total, taken_ms, columns);
    return line;
}

Test(progress, bytes_have_three_digits_and_a_unit) {
    char text[PROGRESS_BYTES_MAX];
    cr_assert_str_eq(progress_bytes(text, 0), "0 bytes");
    cr_assert_str_eq(progress_bytes(text, 999), "999 bytes");
    cr_assert_str_eq(progress_bytes(text, 1024), "1.0 KiB");
    cr_assert_str_eq(progress_bytes(text, 1000.0 * 1024), "1.0 MiB");
    cr_assert_str_eq(progress_bytes(text, 3.5 * (1 << 30)), "3.5 GiB");
    cr_assert_str_eq(progress_bytes(text, 18446744073709551615.0), "16.0 EiB");
}

Test(progress, the_line_has_bar_share_rate_and_the_rest) {
    cr_assert_str_eq(shown(1 << 20, 4 << 20, 2000, 80),
                     "[======>                 ]  25%  1.0 MiB of 4.0 MiB  512.0 KiB/s  6 s left");
    cr_assert_str_eq(shown(4 << 20, 4 << 20, 100, 80), "[========================] 100%  4.0 MiB of 4.0 MiB");
}

Test(progress, before_anything_is_known_it_promises_nothing) {
    cr_assert_str_eq(shown(0, 4 << 20, 3000, 80), "[>                       ]   0%  0 bytes of 4.0 MiB");
    cr_assert_eq(strstr(shown(1 << 20, 4 << 20, 100, 80), "left"), NULL);
}

Test(progress, what_does_not_fit_is_left_out_from_the_end) {
    for (unsigned columns = 1; columns < 100; columns++)
        cr_assert_leq(strlen(shown(1 << 20, 4 << 20, 2000, columns)), columns);
    cr_assert_str_eq(shown(1 << 20, 4 << 20, 2000, 40), "[======>                 ]  25%");
    cr_assert_str_eq(shown(1 << 20, 4 << 20, 2000, 5), "");
}
