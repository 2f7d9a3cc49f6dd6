#include "tests/support/bench_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void bench_must(sw_status status, const sw_error *error) {
    if (status == SW_OK) return;
    fprintf(stderr, "bench: %s: %s\n", sw_status_name(status), error->message);
    exit(1);
}

double bench_now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q) {
    qsort(values, count, sizeof *values, ascending);
    return values[(size_t)((double)(count - 1) * q)];
}

int bench_rounds(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : BENCH_ROUNDS;
    if (rounds >= 1 && rounds <= BENCH_ROUNDS_MAX) return rounds;
    fprintf(stderr, "usage: %s [ROUNDS], 1 to %d\n", argv[0], BENCH_ROUNDS_MAX);
    exit(2);
}

void row_add(struct row *row, double base, double ours) {
    row->base[row->count] = base;
    row->ours[row->count] = ours;
    row->ratio[row->count++] = ours / base;
}

void row_print(struct row *row) {
    size_t n = (size_t)row->count;
    double middle = bench_quantile(row->ratio, n, 0.5);
    printf("%-44s %9.2f %9.2f %-5s %6.2f  (%.2f to %.2f)\n", row->name, bench_quantile(row->base, n, 0.5),
           bench_quantile(row->ours, n, 0.5), row->unit, middle, row->ratio[0], row->ratio[n - 1]);
    fflush(stdout);
}
