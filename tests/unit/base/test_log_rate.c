/* A line that anyone can cause doesn't fill the disk, and isn't lost without a word either. */
#include "proto/base/log_rate.h"
#include "tests/support/test.h"

Test(log_rate, a_few_at_once_then_one_a_second_and_the_rest_is_counted) {
    struct log_rate rate = {0};
    uint64_t left_out = 99;
    for (int i = 0; i < LOG_RATE_AT_ONCE; i++) {
        cr_assert(log_rate_allows(&rate, 5000, &left_out));
        cr_assert_eq(left_out, 0);
    }
    for (int i = 0; i < 1000; i++) cr_assert(!log_rate_allows(&rate, 5000, &left_out));
    cr_assert(!log_rate_allows(&rate, 5999, &left_out));
    cr_assert(log_rate_allows(&rate, 6000, &left_out));
    cr_assert_eq(left_out, 1001);
    cr_assert(!log_rate_allows(&rate, 6000, &left_out));
    cr_assert(log_rate_allows(&rate, 7000, &left_out));
    cr_assert_eq(left_out, 1);
}

Test(log_rate, what_is_saved_up_has_an_end) {
    struct log_rate rate = {0};
    uint64_t left_out;
    int allowed = 0;
    for (int i = 0; i < 1000; i++) allowed += log_rate_allows(&rate, 1000000000, &left_out);
    cr_assert_eq(allowed, LOG_RATE_AT_ONCE);
}
