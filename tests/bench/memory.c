/* Tensors between a trainer, its own endpoint and one who pulls beside it, over a Unix socket: handed over as
 * memory, against memcpy, and against the same as chunks. Each side has a daemon of its own.
 *
 *     bench_memory [ROUNDS]
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "proto/base/malloc_settings.h"
#include "proto/device/hand_over.h"
#include "proto/device/shared.h"
#include "tests/support/bench_rows.h"
#include "tests/support/endpoint.h"

#define LARGEST (1024 * MIB)

struct side {
    struct endpoint endpoint;
    uint64_t step;
};

static struct side chunks, memory;
static char *own, *into;

/* ---- what is measured ---- */

static double time_memcpy(uint64_t size) {
    double begun = bench_now_us();
    memcpy(into, own, size);
    return bench_now_us() - begun;
}

static double time_publish(struct side *side, sw_buffer *buffer, uint64_t size) {
    const int64_t shape[] = {(int64_t)size};
    const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, NULL, 0}, buffer};
    const sw_address address = {.channel = "bench", .step = ++side->step};
    sw_error error;
    double begun = bench_now_us();
    bench_must(
        sw_publish_tensors(sw_client_publisher(side->endpoint.local), &address, &tensor, 1, 0, NULL, &error),
        &error);
    return bench_now_us() - begun;
}

static void nothing_to_release(void *context) {
    (void)context;
}

static sw_buffer *own_memory(uint64_t size) {
    sw_buffer *buffer;
    sw_error error;
    bench_must(sw_buffer_wrap(own, size, nothing_to_release, NULL, &buffer, &error), &error);
    return buffer;
}

/* *ret_us: how long it took to get it and to fill it. */
static sw_buffer *library_memory(uint64_t size, double *ret_us) {
    sw_buffer *buffer;
    void *data;
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_buffer_create(size, &buffer, &data, &error), &error);
    memcpy(data, own, size);
    *ret_us = bench_now_us() - begun;
    return buffer;
}

static double time_pull(struct side *side, const sw_tensor_request *request) {
    const sw_pull pull = {.address = {.channel = "bench", .step = side->step}};
    sw_tensors *tensors;
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_client_get_tensors(side->endpoint.local, &pull, request, request ? 1 : 0, &tensors, &error),
               &error);
    double took = bench_now_us() - begun;
    sw_tensors_destroy(tensors);
    return took;
}

/* ---- rows ---- */

enum { OF_MEMCPY, PUBLISH, FILL_AND_PUBLISH, PULL, PULL_INTO, ROWS };

static const struct row kinds[ROWS] = {
    {.name = "publish", .unit = "GB/s", .against = "memcpy", .reach.ratio = 0.9},
    {.name = "publish", .unit = "GB/s", .against = "chunks"},
    {.name = "fill and publish", .unit = "GB/s", .against = "chunks"},
    {.name = "pull", .unit = "GB/s", .against = "chunks"},
    {.name = "pull into", .unit = "GB/s", .against = "chunks"},
};

struct times {
    double base[ROWS], ours[ROWS];
};

static void once(struct times *times, uint64_t size) {
    const sw_tensor_request request = {"t", into, size};
    double fill;
    sw_buffer *sent = own_memory(size), *given = library_memory(size, &fill);
    times->base[OF_MEMCPY] += time_memcpy(size);
    double published = time_publish(&chunks, sent, size), handed = time_publish(&memory, given, size);
    times->ours[OF_MEMCPY] += handed;
    times->base[PUBLISH] += published;
    times->ours[PUBLISH] += handed;
    times->base[FILL_AND_PUBLISH] += published + time_memcpy(size);
    times->ours[FILL_AND_PUBLISH] += fill + handed;
    times->base[PULL] += time_pull(&chunks, NULL);
    times->ours[PULL] += time_pull(&memory, NULL);
    times->base[PULL_INTO] += time_pull(&chunks, &request);
    times->ours[PULL_INTO] += time_pull(&memory, &request);
    sw_buffer_unref(sent);
    sw_buffer_unref(given);
    while (shared_count() > 0) sched_yield(); /* what is given back later would slow down the other side */
}

static void measure(uint64_t size, const char *words, int rounds) {
    struct row rows[ROWS];
    char names[ROWS][64];
    int repeat = size >= 512 * MIB ? 1 : size >= 16 * MIB ? 4 : 32;
    struct times warm = {0};
    memcpy(rows, kinds, sizeof rows);
    once(&warm, size);
    for (int round = 0; round < rounds; round++) {
        struct times times = {0};
        for (int i = 0; i < repeat; i++) once(&times, size);
        for (int i = 0; i < ROWS; i++)
            row_add(&rows[i], bench_rate(size * (uint64_t)repeat, times.base[i]),
                    bench_rate(size * (uint64_t)repeat, times.ours[i]));
    }
    for (int i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "memory of %s, %s", words, kinds[i].name);
        rows[i].name = names[i];
        row_print(&rows[i]);
    }
}

/* ---- both sides ---- */

static void open_side(struct side *side) {
    static const char *const more[] = {"--stage",        "0", "--stages", "1", "--store-bytes", "3g",
                                       "--pinned-bytes", "1", NULL};
    side->endpoint.more = more;
    endpoint_start(&side->endpoint);
    endpoint_connect(&side->endpoint);
}

static char *map(uint64_t size) {
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) exit(1);
    madvise(bytes, size, MADV_HUGEPAGE);
    memset(bytes, 0x5a, size);
    return bytes;
}

int main(int argc, char **argv) {
    int rounds = bench_rounds(argc, argv);
    struct sockaddr_un beside;
    malloc_keep_for_streams();
    own = map(LARGEST);
    into = map(LARGEST);
    open_side(&chunks);
    open_side(&memory);
    hand_over_address(chunks.endpoint.socket + strlen("unix:"), &beside);
    unlink(beside.sun_path); /* so that this one goes by chunks */
    measure(MIB, "1 MiB", rounds);
    measure(4 * MIB, "4 MiB", rounds);
    measure(64 * MIB, "64 MiB", rounds);
    measure(LARGEST, "1 GiB", rounds);
    endpoint_stop(&chunks.endpoint);
    endpoint_stop(&memory.endpoint);
    return 0;
}
