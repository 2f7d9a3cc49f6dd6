#include "client/cli/bench/bench.h"

#include <poll.h>

#include "client/cli/bench/show.h"
#include "client/cli/messages.h"
#include "client/cli/round_trip.h"
#include "client/cli/stopwatch.h"
#include "proto/base/clock.h"

struct measurement bench_begin(struct bench *bench, enum bench_what what, uint64_t bytes,
                               unsigned connections) {
    struct measurement measurement = {.row = &bench->results.rows[bench->results.count]};
    *measurement.row = (struct bench_row){.what = what, .bytes = bytes, .connections = connections};
    getrusage(RUSAGE_SELF, &measurement.before);
    bench_share(bench, &measurement);
    measurement.begun_ns = stopwatch_ns();
    return measurement;
}

void bench_share(const struct bench *bench, struct measurement *measurement) {
    measurement->end_ms = clock_now_ms(&clock_system) + bench->share_ms;
}

static double busy_s(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

void bench_end(struct bench *bench, struct measurement *measurement) {
    struct bench_row *row = measurement->row;
    struct rusage after;
    row->ns = stopwatch_ns() - measurement->begun_ns;
    getrusage(RUSAGE_SELF, &after);
    row->cores = (busy_s(&after) - busy_s(&measurement->before)) * 1e9 / (double)row->ns;
    bench->results.count++;
    if (!bench->options.json) bench_show_row(stdout, row);
}

int64_t bench_left_ms(const struct measurement *measurement) {
    int64_t left = measurement->end_ms - clock_now_ms(&clock_system);
    return left > 0 ? left : 0;
}

bool bench_is_interrupted(void *bench) {
    struct pollfd interrupts = {.fd = ((struct bench *)bench)->interrupts, .events = POLLIN};
    return poll(&interrupts, 1, 0) == 1;
}

enum cli_exit bench_failed(struct bench *bench, const sw_error *error) {
    if (bench_is_interrupted(bench)) return EXIT_INTERRUPTED;
    enum cli_exit code = messages_error(bench->options.who, error);
    return error->code == SW_DEADLINE_EXCEEDED ? EXIT_UNREACHABLE : code;
}

enum cli_exit bench_client(struct bench *bench, unsigned number, sw_client **ret_client) {
    sw_client **client = &bench->clients[number];
    int64_t took;
    sw_error error;
    *ret_client = NULL;
    if (!*client) {
        enum cli_exit code = options_connect(&bench->options, client);
        if (code != EXIT_OK) return code;
        if (round_trip(*client, bench->options.timeout_ms, &took, &error) != SW_OK)
            return bench_failed(bench, &error);
    }
    *ret_client = *client;
    return EXIT_OK;
}
