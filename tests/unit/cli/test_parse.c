#include "client/cli/parse.h"

#include "tests/support/test.h"

Test(parse, numbers_are_decimal_digits_up_to_a_limit) {
    uint64_t number = 1;
    cr_assert(parse_number("0", 10, &number) && number == 0);
    cr_assert(parse_number("10", 10, &number) && number == 10);
    cr_assert(parse_number("18446744073709551615", UINT64_MAX, &number) && number == UINT64_MAX);
    const char *const wrong[] = {"", "11", "-1", "+1", " 1", "1 ", "0x1", "1.0", "99999999999999999999999"};
    number = 7;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(parse_number(wrong[i], 10, &number), "'%s'", wrong[i]);
    cr_assert_not(parse_number("18446744073709551616", UINT64_MAX, &number));
    cr_assert_eq(number, 7, "an output is written only on success");
}

Test(parse, durations_have_a_number_and_a_unit) {
    int64_t ms;
    cr_assert(parse_duration_ms("500ms", &ms) && ms == 500);
    cr_assert(parse_duration_ms("30s", &ms) && ms == 30000);
    cr_assert(parse_duration_ms("10m", &ms) && ms == 600000);
    cr_assert(parse_duration_ms("2h", &ms) && ms == 7200000);
    const char *const wrong[] = {"",     "30", "s",    "0s",    "-1s",
                                 "1.5s", "1d", "30 s", "30sec", "9999999999999999h"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_not(parse_duration_ms(wrong[i], &ms), "'%s'", wrong[i]);
}
