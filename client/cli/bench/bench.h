/* Measuring an endpoint and the link to it: each measurement has its share of the time and adds rows to the
 * results. They pull as an observer, so nothing waits for them and nothing is released. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_BENCH_H
#define STAGEWIRE_CLIENT_CLI_BENCH_BENCH_H

#include <sys/resource.h>

#include <stagewire/client.h>

#include "client/cli/bench/results.h"
#include "client/cli/options.h"

#define BENCH_CONNECTIONS_MAX 16
#define BENCH_CHANNEL         "stagewire.bench" /* what --publish publishes into */

struct bench {
    struct options options;
    int64_t duration_ms; /* of all measurements together */
    uint64_t most_bytes; /* of a pull */
    unsigned connections;
    bool publishes, serves;
    const char *raw; /* HOST:PORT of 'stagewire bench --serve', or NULL */

    int interrupts;
    int64_t share_ms; /* of a row */
    sw_client *clients[BENCH_CONNECTIONS_MAX];
    sw_info *info;
    sw_pull source; /* whose newest tensors are pulled */
    struct bench_results results;
};

/* A row being measured. */
struct measurement {
    struct bench_row *row;
    int64_t begun_ns;
    int64_t end_ms; /* when its share is over; clock_system's monotonic milliseconds */
    struct rusage before;
};
struct measurement bench_begin(struct bench *bench, enum bench_what what, uint64_t bytes,
                               unsigned connections);
/* Gives it a share of the time from now on: bench_begin does. */
void bench_share(const struct bench *bench, struct measurement *measurement);
/* Counts it among the results and, for people, shows it. */
void bench_end(struct bench *bench, struct measurement *measurement);
int64_t bench_left_ms(const struct measurement *measurement); /* 0: its share is over */

bool bench_is_interrupted(void *bench);
/* What an error means for the command, which says it: nothing where the user interrupted it. */
enum cli_exit bench_failed(struct bench *bench, const sw_error *error);

/* The client of the n-th connection, which stands. */
enum cli_exit bench_client(struct bench *bench, unsigned number, sw_client **ret_client);

/* calls.c: small calls, one after the other. */
enum cli_exit bench_calls(struct bench *bench);
/* pulls.c: the newest tensors of bench->source, by size and by number of connections. */
enum cli_exit bench_pulls(struct bench *bench);
/* publishing.c: tensors of its own, which are then the source. Whatever it has published goes with
 * bench_tidy. */
enum cli_exit bench_publish(struct bench *bench);
void bench_tidy(struct bench *bench);
/* raw.c: what a bare socket does between the same machines. */
enum cli_exit bench_raw(struct bench *bench);

/* serve.c: the other end of bench_raw, for so long. */
enum cli_exit bench_serve(const struct bench *bench);

#endif
