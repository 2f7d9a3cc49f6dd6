#include "client/cli/bench/bench.h"
#include "client/cli/round_trip.h"

enum cli_exit bench_calls(struct bench *bench) {
    sw_client *client;
    enum cli_exit code = bench_client(bench, 0, &client);
    if (code != EXIT_OK) return code;
    struct measurement calls = bench_begin(bench, BENCH_CALL, 0, 1);
    do {
        int64_t took;
        sw_error error;
        if (round_trip(client, bench->options.timeout_ms, &took, &error) != SW_OK)
            code = bench_failed(bench, &error);
        else if (bench_is_interrupted(bench))
            code = EXIT_INTERRUPTED;
        else
            latency_add(&calls.row->took, took);
    } while (code == EXIT_OK && bench_left_ms(&calls) > 0);
    if (calls.row->took.count) bench_end(bench, &calls);
    return code;
}
