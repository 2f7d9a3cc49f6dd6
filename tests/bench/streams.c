/* A tensor from a daemon into memory of the caller's, against a plain socket that sends as many bytes; and
 * one that is published to a daemon on the same host, against memcpy.
 *
 *     bench_streams [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/malloc_settings.h"
#include "tests/support/measure.h"
#include "tests/support/sides.h"

#define LARGEST (1024 * MIB)
#define REPEATS 64

static struct sides sides;
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
    measure_publish(sides.ours.local, channel, into, size);
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
    bench_must(
        sw_publish_tensors(sw_client_publisher(sides.ours.local), &address, &tensor, 1, 0, NULL, &error),
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
    sides_open(&sides, LARGEST, (const char *const[]){"--store-bytes", "4g", NULL});
    into = malloc(LARGEST);
    bench_must_have(into, "malloc");
    memset(into, 0x5a, LARGEST);

    stream((struct row){"stream of 4 MiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.80}, sides.ours.tcp,
           sides.tcp, 4 * MIB);
    stream((struct row){"stream of 64 MiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.9}, sides.ours.tcp,
           sides.tcp, 64 * MIB);
    stream((struct row){"stream of 1 GiB, TCP", "GB/s", "raw TCP", .reach.ratio = 0.95}, sides.ours.tcp,
           sides.tcp, LARGEST);
    stream((struct row){"stream of 256 MiB, Unix socket", "GB/s", .against = "raw Unix socket"},
           sides.ours.local, sides.local, 256 * MIB);
    publish_locally();

    sides_close(&sides);
    return 0;
}
