#include <inttypes.h>
#include <string.h>

#include <stagewire/buffer.h>
#include <stagewire/interrupt.h>

#include "client/cli/bench/bench.h"
#include "client/cli/messages.h"
#include "client/cli/stopwatch.h"

#define MIB (UINT64_C(1) << 20)

/* Steps are published one after the other; the one before goes when the next is there. */
#define STEPS_HELD 2

#define TIDY_MS 2000

static uint64_t next_step(const sw_info *info) {
    for (uint32_t i = 0; i < info->channel_count; i++) {
        const sw_channel_info *channel = &info->channels[i];
        if (channel->kind == SW_TENSORS && strcmp(channel->latest.channel, BENCH_CHANNEL) == 0)
            return channel->latest.step + 1;
    }
    return 0;
}

/* Else the endpoint would let steps of the job go to make room. */
static enum cli_exit check_room(const struct bench *bench) {
    const sw_info *info = bench->info;
    uint64_t needed = STEPS_HELD * bench->most_bytes, room = info->store_bytes - info->held_bytes;
    if (info->store_bytes >= info->held_bytes && room >= needed) return EXIT_OK;
    return messages_say(bench->options.who, EXIT_EXHAUSTED,
                        "the endpoint holds %" PRIu64 " of %" PRIu64
                        " bytes, so there is no room for %" PRIu64
                        " more without pushing out steps of the job; use a smaller --size",
                        info->held_bytes, info->store_bytes, needed);
}

/* Of sizes so that pulls of each size find tensors that fit, in memory that a Unix socket hands over. */
#define PARTS 3

static sw_status make(uint64_t bytes, sw_named_tensor *ret_tensor, sw_error *error) {
    void *data;
    sw_status status = sw_buffer_create((size_t)bytes, &ret_tensor->buffer, &data, error);
    if (status == SW_OK) memset(data, 0x5a, (size_t)bytes); /* each page is there before the time runs */
    return status;
}

static sw_status make_all(uint64_t bytes, int64_t shapes[PARTS], sw_named_tensor tensors[PARTS],
                          size_t *ret_count, sw_error *error) {
    static const char *const names[PARTS] = {"small", "medium", "large"};
    const uint64_t ends[PARTS] = {MIB, 16 * MIB, bytes};
    sw_status status = SW_OK;
    for (uint64_t from = 0; from < bytes && status == SW_OK;) {
        size_t i = (*ret_count)++;
        uint64_t end = ends[i] < bytes ? ends[i] : bytes;
        shapes[i] = (int64_t)(end - from);
        tensors[i] =
            (sw_named_tensor){.name = names[i], .view = {.dtype = SW_U8, .rank = 1, .shape = &shapes[i]}};
        status = make(end - from, &tensors[i], error);
        from = end;
    }
    return status;
}

static enum cli_exit publish(struct bench *bench, const sw_named_tensor *tensors, size_t count) {
    sw_publisher *publisher = sw_client_publisher(bench->clients[0]);
    struct measurement publishes = bench_begin(bench, BENCH_PUBLISH, bench->most_bytes, 1);
    enum cli_exit code = EXIT_OK;
    do {
        sw_error error;
        int64_t begun = stopwatch_ns();
        if (sw_publish_tensors(publisher, &bench->source.address, tensors, count, bench->options.timeout_ms,
                               NULL, &error) != SW_OK) {
            code = bench_failed(bench, &error);
            break;
        }
        latency_add(&publishes.row->took, stopwatch_ns() - begun);
        publishes.row->moved += bench->most_bytes;
        bench->source.address.step++;
    } while (bench_left_ms(&publishes) > 0 && !bench_is_interrupted(bench));
    if (publishes.row->took.count) bench_end(bench, &publishes);
    return code == EXIT_OK && bench_is_interrupted(bench) ? EXIT_INTERRUPTED : code;
}

enum cli_exit bench_publish(struct bench *bench) {
    int64_t shapes[PARTS];
    sw_named_tensor tensors[PARTS] = {0};
    size_t count = 0;
    sw_error error;
    enum cli_exit code = check_room(bench);
    if (code != EXIT_OK) return code;
    bench->source.address.step = next_step(bench->info);
    if (make_all(bench->most_bytes, shapes, tensors, &count, &error) == SW_OK)
        code = publish(bench, tensors, count);
    else
        code = bench_failed(bench, &error);
    for (size_t i = 0; i < count; i++) sw_buffer_unref(tensors[i].buffer);
    return code;
}

void bench_tidy(struct bench *bench) {
    static const int64_t none = 0;
    const sw_named_tensor empty = {.name = "empty", .view = {SW_U8, 1, &none, NULL, 0}};
    sw_error error;
    sw_interrupt_set(NULL, NULL);
    if (sw_publish_tensors(sw_client_publisher(bench->clients[0]), &bench->source.address, &empty, 1, TIDY_MS,
                           NULL, &error) != SW_OK)
        messages_say(bench->options.who, EXIT_OK, "what it published in %s stays held: %s", BENCH_CHANNEL,
                     error.message);
}
