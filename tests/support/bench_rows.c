#include "tests/support/bench_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_must(sw_status status, const sw_error *error) {
    if (status == SW_OK) return;
    fprintf(stderr, "bench: %s: %s\n", sw_status_name(status), error->message);
    exit(1);
}

void bench_must_have(bool good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

double bench_now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

double bench_rate(uint64_t bytes, double us) {
    return (double)bytes / us / 1e3;
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

/* ---- rows ---- */

void row_add(struct row *row, double base, double ours) {
    row->base[row->count] = base;
    row->ours[row->count++] = ours;
}

static double median(const double *values, int count) {
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    return bench_quantile(sorted, (size_t)count, 0.5);
}

static void print_reach(const struct row *row) {
    if (row->reach.ratio > 0) printf("  reach %.2f", row->reach.ratio);
    if (row->reach.value > 0) printf("  reach %.0f %s", row->reach.value, row->unit);
}

static void write_values(FILE *file, const char *name, const double *values, int count) {
    fprintf(file, ", \"%s\": [", name);
    for (int i = 0; i < count; i++) fprintf(file, "%s%.4f", i ? ", " : "", values[i]);
    fputc(']', file);
}

static void write_row(const struct row *row, const double *ratios) {
    const char *path = getenv("STAGEWIRE_BENCH_ROWS");
    if (!path) return;
    FILE *file = fopen(path, "ae");
    bench_must_have(file, path);
    fprintf(file, "{\"name\": \"%s\", \"against\": \"%s\", \"unit\": \"%s\", \"less_is_better\": %s",
            row->name, row->against, row->unit, row->less_is_better ? "true" : "false");
    fprintf(file, ", \"reach_ratio\": %.2f, \"reach_value\": %.2f", row->reach.ratio, row->reach.value);
    write_values(file, "base", row->base, row->count);
    write_values(file, "ours", row->ours, row->count);
    write_values(file, "ratios", ratios, row->count);
    fprintf(file, "}\n");
    fclose(file);
}

void row_print(const struct row *row) {
    double ratios[BENCH_ROUNDS_MAX];
    for (int i = 0; i < row->count; i++) ratios[i] = row->ours[i] / row->base[i];
    write_row(row, ratios);
    double middle = bench_quantile(ratios, (size_t)row->count, 0.5);
    printf("%-42s %9.2f %-4s %9.2f of %-22s %5.2f  (%.2f to %.2f)", row->name, median(row->ours, row->count),
           row->unit, median(row->base, row->count), row->against, middle, ratios[0], ratios[row->count - 1]);
    print_reach(row);
    printf("\n");
    fflush(stdout);
}
