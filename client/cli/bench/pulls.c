#include <poll.h>
#include <stdlib.h>

#include "client/cli/bench/bench.h"
#include "client/cli/sample.h"
#include "client/cli/stopwatch.h"

/* A connection and the pull that is under way on it. */
struct lane {
    sw_client *client;
    sw_call *call;
    int64_t begun_ns;
};

struct pulls {
    struct bench *bench;
    const struct sample *sample;
    struct measurement measurement;
    unsigned count;
    struct lane lanes[BENCH_CONNECTIONS_MAX];
};

static enum cli_exit start(struct pulls *pulls, struct lane *lane) {
    sw_error error;
    lane->begun_ns = stopwatch_ns();
    if (sw_client_start_tensors(lane->client, &pulls->bench->source, pulls->sample->requests,
                                pulls->sample->count, &lane->call, &error) == SW_OK)
        return EXIT_OK;
    return bench_failed(pulls->bench, &error);
}

static enum cli_exit finish(struct pulls *pulls, struct lane *lane) {
    struct bench_row *row = pulls->measurement.row;
    sw_tensors *tensors;
    sw_error error;
    sw_status status = sw_call_finish_tensors(lane->call, &tensors, &error);
    sw_call_destroy(lane->call);
    lane->call = NULL;
    if (status != SW_OK) return bench_failed(pulls->bench, &error);
    latency_add(&row->took, stopwatch_ns() - lane->begun_ns);
    for (uint32_t i = 0; i < sw_tensors_count(tensors); i++) row->moved += sw_tensors_view(tensors, i)->size;
    sw_tensors_destroy(tensors);
    return EXIT_OK;
}

/* Until a pull is over, the share is, or the user has enough. */
static enum cli_exit wait_for_any(const struct pulls *pulls) {
    struct pollfd descriptors[BENCH_CONNECTIONS_MAX + 1];
    for (unsigned i = 0; i < pulls->count; i++)
        descriptors[i] = (struct pollfd){.fd = sw_call_fd(pulls->lanes[i].call), .events = POLLIN};
    descriptors[pulls->count] = (struct pollfd){.fd = pulls->bench->interrupts, .events = POLLIN};
    poll(descriptors, pulls->count + 1, (int)bench_left_ms(&pulls->measurement));
    return descriptors[pulls->count].revents ? EXIT_INTERRUPTED : EXIT_OK;
}

static uint64_t arrived(const struct pulls *pulls) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < pulls->count; i++) {
        uint64_t bytes = 0, total;
        if (pulls->lanes[i].call) sw_call_progress(pulls->lanes[i].call, &bytes, &total);
        sum += bytes;
    }
    return sum;
}

/* A share in which nothing came measures nothing: it is had again, until something comes or the pull fails.
 */
static bool go_on(struct pulls *pulls) {
    struct measurement *measurement = &pulls->measurement;
    if (bench_left_ms(measurement) == 0 && measurement->row->moved + arrived(pulls) == 0)
        bench_share(pulls->bench, measurement);
    return bench_left_ms(measurement) > 0;
}

static enum cli_exit keep_pulling(struct pulls *pulls) {
    enum cli_exit code = EXIT_OK;
    for (unsigned i = 0; i < pulls->count && code == EXIT_OK; i++) code = start(pulls, &pulls->lanes[i]);
    while (code == EXIT_OK && go_on(pulls)) {
        code = wait_for_any(pulls);
        for (unsigned i = 0; i < pulls->count && code == EXIT_OK; i++) {
            if (!sw_call_done(pulls->lanes[i].call)) continue;
            code = finish(pulls, &pulls->lanes[i]);
            if (code == EXIT_OK) code = start(pulls, &pulls->lanes[i]);
        }
    }
    return code;
}

static enum cli_exit measure(struct bench *bench, const struct sample *sample, unsigned connections) {
    struct pulls pulls = {.bench = bench, .sample = sample, .count = connections};
    enum cli_exit code = EXIT_OK;
    for (unsigned i = 0; i < connections && code == EXIT_OK; i++)
        code = bench_client(bench, i, &pulls.lanes[i].client);
    if (code != EXIT_OK) return code;
    pulls.measurement = bench_begin(bench, BENCH_PULL, sample->bytes, connections);
    code = keep_pulling(&pulls);
    pulls.measurement.row->moved += arrived(&pulls); /* a slow link may not have carried a whole pull */
    if (code == EXIT_OK || code == EXIT_INTERRUPTED) bench_end(bench, &pulls.measurement);
    for (unsigned i = 0; i < connections; i++) sw_call_destroy(pulls.lanes[i].call);
    return code;
}

/* ---- which ---- */

#define MIB (UINT64_C(1) << 20)

static enum cli_exit by_connections(struct bench *bench, const struct sample *sample) {
    enum cli_exit code = EXIT_OK;
    for (unsigned count = 2; count <= bench->connections && code == EXIT_OK; count *= 2)
        code = measure(bench, sample, count);
    return code;
}

static enum cli_exit by_size(struct bench *bench, const sw_tensors *manifest) {
    const uint64_t limits[] = {MIB, 16 * MIB, bench->most_bytes};
    uint64_t before = 0;
    enum cli_exit code = EXIT_OK;
    for (size_t i = 0; i < 3 && code == EXIT_OK; i++) {
        bool is_last = i == 2;
        if (!is_last && limits[i] >= bench->most_bytes) continue;
        struct sample sample = sample_choose(manifest, limits[i]);
        if (sample.bytes > before) code = measure(bench, &sample, 1);
        if (is_last && sample.bytes > 0 && code == EXIT_OK) code = by_connections(bench, &sample);
        before = sample.bytes;
        free(sample.requests);
    }
    if (before == 0 && code == EXIT_OK)
        bench->results.not_streamed = "those of the newest step are empty, or each is larger than --size";
    return code;
}

/* That also tells an endpoint that is gone from one from which nothing came in time. */
static enum cli_exit see_whether_memory(struct bench *bench, sw_client *client) {
    sw_info *info;
    sw_error error;
    if (sw_client_info(client, bench->options.timeout_ms, &info, &error) != SW_OK)
        return bench_failed(bench, &error);
    bench->results.passes_memory =
        info->hand_over.is_reached && info->hand_over.bytes_out > bench->info->hand_over.bytes_out;
    sw_info_destroy(info);
    return EXIT_OK;
}

enum cli_exit bench_pulls(struct bench *bench) {
    sw_client *client;
    sw_tensors *manifest;
    sw_error error;
    enum cli_exit code = bench_client(bench, 0, &client);
    if (code != EXIT_OK) return code;
    if (sw_client_get_manifest(client, &bench->source, &manifest, &error) != SW_OK)
        return bench_failed(bench, &error);
    code = by_size(bench, manifest);
    sw_tensors_destroy(manifest);
    return code == EXIT_OK ? see_whether_memory(bench, client) : code;
}
