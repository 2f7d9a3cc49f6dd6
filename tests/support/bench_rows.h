/* What the benchmarks share: the clock, giving up, and a row that compares two sides over several rounds. */
#ifndef STAGEWIRE_TESTS_BENCH_ROWS_H
#define STAGEWIRE_TESTS_BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#define BENCH_ROUNDS     5
#define BENCH_ROUNDS_MAX 64

#define MIB (UINT64_C(1) << 20)

/* Ends the program unless the status is SW_OK. */
void bench_must(sw_status status, const sw_error *error);
/* The same for a system call or an allocation, with errno's words. */
void bench_must_have(bool good, const char *what);

double bench_now_us(void);
double bench_rate(uint64_t bytes, double us); /* GB/s */

/* Sorts the values. */
double bench_quantile(double *values, size_t count, double q);

/* How many rounds the first argument asks for, BENCH_ROUNDS without one; ends the program if it is none. */
int bench_rounds(int argc, char **argv);

/* What to reach: a ratio, or a value of ours in the row's unit. 0: only measured. */
struct reach {
    double ratio, value;
};

struct row {
    const char *name, *unit, *against; /* against: what `base` is */
    bool less_is_better;
    struct reach reach;
    double base[BENCH_ROUNDS_MAX], ours[BENCH_ROUNDS_MAX];
    int count;
};

void row_add(struct row *row, double base, double ours);
/* A line: medians of both sides, the ratio's median and range, and what to reach. Where STAGEWIRE_BENCH_ROWS
 * names a file, the row with all its rounds is appended to it, as a line of JSON. */
void row_print(const struct row *row);

#endif
