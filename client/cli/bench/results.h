/* What 'stagewire bench' measured: a row for each thing that was done again and again. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_RESULTS_H
#define STAGEWIRE_CLIENT_CLI_BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/latency.h"

enum bench_what { BENCH_CALL, BENCH_PUBLISH, BENCH_PULL, BENCH_RAW_CALL, BENCH_RAW_STREAM };
enum bench_link { BENCH_UNIX, BENCH_TCP, BENCH_TLS };

struct bench_row {
    enum bench_what what;
    uint64_t bytes;       /* of one pull or publish; 0: of a call, and of a stream without an end */
    unsigned connections; /* at the same time */
    struct latency took;  /* each that came to its end */
    uint64_t moved;       /* bytes, those of pulls that were cut off by the end included */
    int64_t ns;           /* all of it */
    double cores;         /* of this machine, that this program kept busy */
};

#define BENCH_ROWS_MAX 12

struct bench_results {
    const char *endpoint;
    enum bench_link link;
    bool is_near;             /* both ends are on this machine */
    bool passes_memory;       /* tensors come as memory instead of as chunks */
    const char *channel;      /* that was pulled from; NULL: none */
    const char *not_streamed; /* why, and how to get it; NULL: it was */
    struct bench_row rows[BENCH_ROWS_MAX];
    size_t count;
    bool is_complete;
};

double bench_rate(const struct bench_row *row); /* bytes a second; 0 of what moves none */

/* The fastest pull over that many connections, or over any for 0; NULL where there is none. */
const struct bench_row *bench_best_pull(const struct bench_results *results, unsigned connections);
/* The only row of a kind, or NULL. */
const struct bench_row *bench_row_of(const struct bench_results *results, enum bench_what what);

#endif
