/* What the benchmarks share: the clock, giving up, and a row that compares two sides over several rounds. */
#ifndef STAGEWIRE_TESTS_BENCH_ROWS_H
#define STAGEWIRE_TESTS_BENCH_ROWS_H

#include <stddef.h>

#include <stagewire/status.h>

#define BENCH_ROUNDS     5
#define BENCH_ROUNDS_MAX 64

/* Ends the program unless the status is SW_OK. */
void bench_must(sw_status status, const sw_error *error);

double bench_now_us(void);

/* Sorts the values. */
double bench_quantile(double *values, size_t count, double q);

/* How many rounds the first argument asks for, BENCH_ROUNDS without one; ends the program if it is none. */
int bench_rounds(int argc, char **argv);

struct row {
    const char *name, *unit;
    double base[BENCH_ROUNDS_MAX], ours[BENCH_ROUNDS_MAX], ratio[BENCH_ROUNDS_MAX];
    int count;
};

void row_add(struct row *row, double base, double ours);
/* Medians of both sides, and the ratio's median and range. */
void row_print(struct row *row);

#endif
