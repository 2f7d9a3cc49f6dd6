#include "client/cli/demo/report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static struct report through_a_pipe(const struct report *report) {
    int ends[2];
    char line[8192];
    struct report back;
    cr_assert_eq(pipe(ends), 0);
    cr_assert(report_write(ends[1], report));
    ssize_t size = read(ends[0], line, sizeof line);
    cr_assert_gt(size, 0);
    cr_assert_eq(line[size - 1], '\n');
    sw_error error;
    cr_assert_eq(report_read(line, (size_t)size - 1, &back, &error), SW_OK, "%s", error.message);
    close(ends[0]);
    close(ends[1]);
    return back;
}

Test(report, the_losses_of_a_step_arrive_to_the_bit) {
    struct report report = {.type = REPORT_STEP,
                            .step = 7,
                            .traffic = {1, 2, 3, 4, 5},
                            .has_metrics = true,
                            .metrics = {1.0 / 3, 0.1, NAN, -0.0, 256}};
    struct report back = through_a_pipe(&report);
    cr_assert_eq(back.type, REPORT_STEP);
    cr_assert_eq(back.step, 7);
    cr_assert_eq(memcmp(&back.traffic, &report.traffic, sizeof back.traffic), 0);
    cr_assert(back.has_metrics && back.metrics.loss == 1.0 / 3 && back.metrics.accuracy == 0.1);
    cr_assert(isnan(back.metrics.grad_norm) && signbit(back.metrics.lr));
    cr_assert_eq(back.metrics.num_valid_samples, 256);
}

Test(report, a_failure_arrives_with_its_reason) {
    struct report report = {.type = REPORT_FAILED,
                            .code = SW_UNAVAILABLE,
                            .reason = SW_REASON_ENDPOINT_LOST,
                            .message = "a \"b\"\n"};
    struct report back = through_a_pipe(&report);
    cr_assert_eq(back.code, SW_UNAVAILABLE);
    cr_assert_eq(back.reason, SW_REASON_ENDPOINT_LOST);
    cr_assert_str_eq(back.message, "a \"b\"\n");
}

Test(report, a_line_that_is_none_is_an_error) {
    struct report report;
    sw_error error;
    cr_assert_eq(report_read("hello", 5, &report, &error), SW_INTERNAL);
    cr_assert_eq(report_read("{\"type\": 9}", 11, &report, &error), SW_INTERNAL);
    cr_assert(strstr(error.message, "{\"type\": 9}"), "%s", error.message);
}

Test(report, endpoints_go_to_every_stage_and_their_end_is_noticed) {
    int ends[2];
    char endpoints[2][REPORT_ENDPOINT_MAX];
    sw_error error;
    cr_assert_eq(pipe(ends), 0);
    cr_assert(endpoints_write(ends[1], (const char *const[]){"unix:/a b", "127.0.0.1:1"}, 2));
    cr_assert_eq(endpoints_read(ends[0], 2, endpoints, &error), SW_OK);
    cr_assert_str_eq(endpoints[0], "unix:/a b");
    cr_assert_str_eq(endpoints[1], "127.0.0.1:1");
    cr_assert(endpoints_write(ends[1], (const char *const[]){"unix:/a"}, 1));
    cr_assert_eq(endpoints_read(ends[0], 2, endpoints, &error), SW_INTERNAL);
    close(ends[1]);
    cr_assert_eq(endpoints_read(ends[0], 2, endpoints, &error), SW_ABORTED);
    close(ends[0]);
}
