/* Latency and throughput of a pull as ratios to a raw socket that does the same in the same run, both sides
 * alternating. The endpoint is a process of its own (stagewired), as is the raw server. Prints a row a
 * measure: median, range, ratio. Asserts nothing.
 *
 *     bench_ratios [ROUNDS]      5 rounds by default
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "proto/base/malloc_settings.h"
#include "tests/support/bench_rows.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_socket.h"

#define MIB     (1ull << 20)
#define LARGEST (1024 * MIB)
#define CALLS   2000
#define WAKES   500
#define METRICS 1024 /* bytes of a raw answer: what 20 metrics take */

struct bench {
    struct raw_server raw_server;
    int raw;
    struct daemon *daemon;
    sw_client *tcp, *unix_socket, *publishing;
    char *into;
    uint64_t step;
};

/* ---- streaming ---- */

static double gigabytes_per_second(uint64_t bytes, double us) {
    return (double)bytes / us / 1e3;
}

static void publish_tensor(struct bench *b, const char *channel, uint64_t size) {
    const int64_t shape[] = {(int64_t)size};
    memset(b->into, 0x5a, size);
    sw_named_tensor tensor = {"t", {SW_U8, 1, shape, b->into, size}, NULL};
    sw_error error;
    bench_must(sw_publish_tensors(sw_client_publisher(b->publishing), &(sw_address){.channel = channel},
                                  &tensor, 1, 0, NULL, &error),
               &error);
}

static double pull_tensor(struct bench *b, sw_client *client, const char *channel, uint64_t size) {
    sw_tensor_request request = {"t", b->into, size};
    sw_pull pull = {.address = {.channel = channel}};
    sw_tensors *tensors;
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_client_get_tensors(client, &pull, &request, 1, &tensors, &error), &error);
    double took = bench_now_us() - begun;
    sw_tensors_destroy(tensors);
    return took;
}

static void bench_stream(struct bench *b, const char *name, sw_client *client, uint64_t size, int rounds) {
    struct row row = {.name = name, .unit = "GB/s"};
    char channel[32];
    snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
    publish_tensor(b, channel, size);
    pull_tensor(b, client, channel, size);
    int repeat = size >= 512 * MIB ? 1 : 8;
    for (int round = 0; round < rounds; round++) {
        double raw = 0, ours = 0;
        for (int i = 0; i < repeat; i++) {
            double begun = bench_now_us();
            raw_ask(b->raw, b->into, size);
            raw += bench_now_us() - begun;
        }
        for (int i = 0; i < repeat; i++) ours += pull_tensor(b, client, channel, size);
        uint64_t bytes = size * (uint64_t)repeat;
        row_add(&row, gigabytes_per_second(bytes, raw), gigabytes_per_second(bytes, ours));
    }
    row_print(&row);
}

/* ---- small calls ---- */

static sw_value twenty_metrics(sw_entry *entries, char names[20][48]) {
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "train/policy/some_loss_component_no_%02d", i);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_number(bench_now_us())};
    }
    return sw_dict(entries, 20);
}

static void publish_metrics(struct bench *b, uint64_t step) {
    sw_entry entries[20];
    char names[20][48];
    sw_value metrics = twenty_metrics(entries, names);
    sw_error error;
    bench_must(sw_publish_metrics(sw_client_publisher(b->publishing),
                                  &(sw_address){.channel = "train", .step = step}, &metrics, 0, NULL, &error),
               &error);
}

static double median_raw_call(struct bench *b, double *times) {
    for (int i = 0; i < CALLS; i++) {
        double begun = bench_now_us();
        raw_ask(b->raw, b->into, METRICS);
        times[i] = bench_now_us() - begun;
    }
    return bench_quantile(times, CALLS, 0.5);
}

static double median_pull(sw_client *client, double *times, double *ret_p99) {
    sw_pull pull = {.address = {.channel = "train", .step = 1}};
    sw_error error;
    for (int i = 0; i < CALLS; i++) {
        sw_metrics *metrics;
        double begun = bench_now_us();
        bench_must(sw_client_get_metrics(client, &pull, &metrics, &error), &error);
        times[i] = bench_now_us() - begun;
        sw_metrics_destroy(metrics);
    }
    *ret_p99 = bench_quantile(times, CALLS, 0.99);
    return bench_quantile(times, CALLS, 0.5);
}

static void bench_calls(struct bench *b, const char *name, sw_client *client, int rounds) {
    struct row row = {.name = name, .unit = "us"};
    static double times[CALLS];
    double p99, worst = 0;
    for (int round = 0; round < rounds; round++) {
        double raw = median_raw_call(b, times);
        row_add(&row, raw, median_pull(client, times, &p99));
        worst = p99 > worst ? p99 : worst;
    }
    row_print(&row);
    printf("%-44s %29.2f us\n", "  the worst round's p99", worst);
}

/* ---- waking ---- */

static void wait_until_it_waits(struct bench *b) {
    sw_error error;
    for (uint64_t waiting = 0; !waiting;) {
        sw_info *info;
        bench_must(sw_client_info(b->publishing, 0, &info, &error), &error);
        waiting = info->waiting;
        sw_info_destroy(info);
    }
}

/* From the call of publish, over RPC to the daemon, to the metrics in the hands of a client that waited. */
static double median_wake(struct bench *b, sw_client *client, double *times) {
    sw_error error;
    for (int i = 0; i < WAKES; i++) {
        sw_pull pull = {.address = {.channel = "train", .step = ++b->step}};
        sw_call *call;
        sw_metrics *metrics;
        bench_must(sw_client_start_metrics(client, &pull, &call, &error), &error);
        wait_until_it_waits(b);
        double begun = bench_now_us();
        publish_metrics(b, b->step);
        bench_must(sw_call_finish_metrics(call, &metrics, &error), &error);
        times[i] = bench_now_us() - begun;
        sw_metrics_destroy(metrics);
        sw_call_destroy(call);
    }
    return bench_quantile(times, WAKES, 0.5);
}

static void bench_wake(struct bench *b, int rounds) {
    struct row row = {.name = "publish over RPC to a waiting client, TCP", .unit = "us"};
    static double times[CALLS];
    for (int round = 0; round < rounds; round++) {
        double raw = median_raw_call(b, times);
        row_add(&row, raw, median_wake(b, b->tcp, times));
    }
    row_print(&row);
}

/* ---- the run ---- */

static sw_client *connect_to(const char *target) {
    sw_client *client;
    sw_error error;
    bench_must(sw_client_open(target, NULL, &client, &error), &error);
    return client;
}

static void open_bench(struct bench *b) {
    b->raw_server = raw_server_start(LARGEST);
    b->raw = raw_connect(b->raw_server.port);
    b->into = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char path[64];
    snprintf(path, sizeof path, "unix:/tmp/stagewire-bench-%d.sock", (int)getpid());
    b->daemon =
        daemon_start((const char *const[]){"--listen", "127.0.0.1:0", "--listen", path, "--run-id", "bench",
                                           "--stage", "0", "--stages", "1", "--store-bytes", "4g", NULL});
    if (!b->daemon) exit(1);
    b->tcp = connect_to(daemon_target(b->daemon, 0));
    b->unix_socket = connect_to(daemon_target(b->daemon, 1));
    b->publishing = connect_to(daemon_target(b->daemon, 1));
    publish_metrics(b, b->step = 1);
}

static void close_bench(struct bench *b) {
    sw_client_close(b->tcp);
    sw_client_close(b->unix_socket);
    sw_client_close(b->publishing);
    daemon_kill(b->daemon);
    daemon_destroy(b->daemon);
    close(b->raw);
    raw_server_stop(&b->raw_server);
}

int main(int argc, char **argv) {
    int rounds = bench_rounds(argc, argv);
    malloc_keep_for_streams();
    static struct bench b;
    open_bench(&b);
    printf("%-44s %9s %9s %-5s %6s  range of %d rounds\n", "", "raw TCP", "stagewire", "", "ratio", rounds);
    bench_calls(&b, "pull of 20 held metrics, TCP", b.tcp, rounds);
    bench_calls(&b, "pull of 20 held metrics, Unix socket", b.unix_socket, rounds);
    bench_wake(&b, rounds);
    bench_stream(&b, "stream of 4 MiB, TCP", b.tcp, 4 * MIB, rounds);
    bench_stream(&b, "stream of 64 MiB, TCP", b.tcp, 64 * MIB, rounds);
    bench_stream(&b, "stream of 1 GiB, TCP", b.tcp, LARGEST, rounds);
    close_bench(&b);
    return 0;
}
