#include "client/cli/latency.h"

#include <stdlib.h>

#include "tests/support/test.h"

static struct latency latency;

Test(latency, percentiles_are_right_to_a_sixteenth) {
    for (int64_t i = 1; i <= 10000; i++) latency_add(&latency, i * 1000);
    double p50 = (double)latency_percentile_ns(&latency, 0.5),
           p99 = (double)latency_percentile_ns(&latency, 0.99);
    cr_assert(p50 > 5e6 * 15 / 16 && p50 <= 5e6, "%f", p50);
    cr_assert(p99 > 9.9e6 * 15 / 16 && p99 <= 9.9e6, "%f", p99);
}

Test(latency, takes_any_time_and_none) {
    cr_assert_eq(latency_percentile_ns(&latency, 0.5), 0);
    latency_add(&latency, -5);
    cr_assert_eq(latency_percentile_ns(&latency, 0.99), 0);
    latency_add(&latency, INT64_MAX);
    latency_add(&latency, INT64_MAX);
    cr_assert_gt(latency_percentile_ns(&latency, 0.5), (uint64_t)INT64_MAX / 16 * 15);
}

Test(latency, small_times_are_exact) {
    for (int64_t i = 0; i < 16; i++) {
        struct latency *one = calloc(1, sizeof *one);
        latency_add(one, i);
        cr_assert_eq(latency_percentile_ns(one, 0.5), (uint64_t)i);
        free(one);
    }
}
