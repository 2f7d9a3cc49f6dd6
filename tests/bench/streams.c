/* A tensor from a daemon into memory of the caller's, against a plain socket that sends as many bytes; and
 * one that is published to a daemon on the same host, against memcpy.
 *
 *     bench_streams [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/malloc_settings.h"
#include "tests/support/baseline.h"
#include "tests/support/daemon.h"
#include "tests/support/measure.h"

#define LARGEST (1024 * MIB)
#define REPEATS 64

static struct daemon *daemon_;
static sw_client *unix_client;
static char *into;
static int rounds;

static int repeats_of(uint64_t size) {
    uint64_t fit = LARGEST / size;
    return fit < REPEATS ? (int)fit : REPEATS;
}

/* Medians, and once more before they count: windows and buffers grow with use. */
static double raw_rate(struct baseline_client *raw, uint64_t size) {
    double times[REPEATS];
    int repeats = repeats_of(size);
    for (int i = 0; i < repeats; i++) times[i] = baseline_ask(raw, into, size);
    return bench_rate(size, bench_quantile(times, (size_t)repeats, 0.5));
}

static double our_rate(sw_client *client, const char *channel, uint64_t size) {
    double times[REPEATS];
    int repeats = repeats_of(size);
    for (int i = 0; i < repeats; i++) times[i] = measure_pull(client, channel, into, size);
    return bench_rate(size, bench_quantile(times, (size_t)repeats, 0.5));
}

static void stream(struct row row, sw_client *client, struct baseline_client *raw, uint64_t size) {
    char channel[32];
    snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
    measure_publish(unix_client, channel, into, size);
    our_rate(client, channel, size);
    raw_rate(raw, size);
    for (int round = 0; round < rounds; round++) {
        double base = raw_rate(raw, size);
        row_add(&row, base, our_rate(client, channel, size));
    }
    row_print(&row);
}

static double copy_rate(char *to, uint64_t size) {
    double begun = bench_now_us();
    memcpy(to, into, size);
    return bench_rate(size, bench_now_us() - begun);
}

static double publish_rate(uint64_t size) {
    static int steps;
    const int64_t shape[] = {(int64_t)size};
    const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, into, size}, NULL};
    const sw_address address = {.channel = "local", .step = (uint64_t)++steps};
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_publish_tensors(sw_client_publisher(unix_client), &address, &tensor, 1, 0, NULL, &error),
               &error);
    return bench_rate(size, bench_now_us() - begun);
}

static void publish_locally(void) {
    struct row row = {"publish of 1 GiB on one host", "GB/s", "memcpy", .reach.ratio = 0.9};
    char *to = malloc(LARGEST);
    bench_must_have(to, "malloc");
    memset(to, 1, LARGEST);
    for (int i = 0; i < 3; i++) publish_rate(LARGEST); /* until no memory is new to the machine */
    for (int round = 0; round < rounds; round++) {
        double base = copy_rate(to, LARGEST);
        row_add(&row, base, publish_rate(LARGEST));
    }
    free(to);
    row_print(&row);
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    malloc_keep_for_streams();
    struct baseline tcp_server = {BASELINE_TCP, .largest_answer = LARGEST};
    struct baseline unix_server = {BASELINE_UNIX, .largest_answer = LARGEST};
    baseline_start(&tcp_server);
    baseline_start(&unix_server);
    struct baseline_client *raw_tcp = baseline_connect(&tcp_server),
                           *raw_unix = baseline_connect(&unix_server);
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/stagewire-bench-%d.sock", (int)getpid());
    daemon_ = daemon_start((const char *const[]){"--listen", "127.0.0.1:0", "--listen", path, "--run-id",
                                                 "bench", "--store-bytes", "4g", NULL});
    bench_must_have(daemon_, "stagewired");
    into = malloc(LARGEST);
    bench_must_have(into, "malloc");
    memset(into, 0x5a, LARGEST);
    sw_client *tcp_client = measure_open(daemon_target(daemon_, 0));
    unix_client = measure_open(daemon_target(daemon_, 1));

    stream((struct row){"stream of 4 MiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.80}, tcp_client, raw_tcp,
           4 * MIB);
    stream((struct row){"stream of 64 MiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.9}, tcp_client, raw_tcp,
           64 * MIB);
    stream((struct row){"stream of 1 GiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.95}, tcp_client, raw_tcp,
           LARGEST);
    stream((struct row){"stream of 256 MiB, Unix socket", "GB/s", .against = "raw Unix socket"}, unix_client,
           raw_unix, 256 * MIB);
    publish_locally();

    sw_client_close(tcp_client);
    sw_client_close(unix_client);
    daemon_kill(daemon_);
    daemon_destroy(daemon_);
    baseline_close(raw_tcp);
    baseline_close(raw_unix);
    baseline_stop(&tcp_server);
    baseline_stop(&unix_server);
    return 0;
}
