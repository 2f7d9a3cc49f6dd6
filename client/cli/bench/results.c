#include "client/cli/bench/results.h"

double bench_rate(const struct bench_row *row) {
    return row->ns > 0 ? (double)row->moved * 1e9 / (double)row->ns : 0;
}

const struct bench_row *bench_best_pull(const struct bench_results *results, unsigned connections) {
    const struct bench_row *best = NULL;
    for (const struct bench_row *row = results->rows; row < results->rows + results->count; row++) {
        if (row->what != BENCH_PULL || (connections && row->connections != connections)) continue;
        if (!best || bench_rate(row) > bench_rate(best)) best = row;
    }
    return best;
}

const struct bench_row *bench_row_of(const struct bench_results *results, enum bench_what what) {
    for (const struct bench_row *row = results->rows; row < results->rows + results->count; row++)
        if (row->what == what) return row;
    return NULL;
}
