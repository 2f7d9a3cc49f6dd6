/* What a publish, a wake, a pull and a chunk cost in store and codecs alone: without sockets, threads or a
 * clock, so that callgrind counts the same instructions each time. `count` runs it, with what lies within
 * `measured`.
 *
 *     bench_instructions publish|wake|pull|chunk
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/reassembly.h"
#include "proto/base/limits.h"
#include "proto/device/device.h"
#include "proto/wire/value_codec.h"
#include "service/store/store.h"
#include "tests/support/bench_rows.h"

#define TIMES   100 /* what `count` divides by */
#define METRICS 20
#define PIECES  9 /* as gRPC cuts 512 KiB */

static struct store *store;
static sw_error error;

static int64_t stands_still(void *context) {
    (void)context;
    return 1;
}
static uint64_t always_the_same(void *context) {
    (void)context;
    return 7;
}

static void open_store(void) {
    static const struct clock clock = {stands_still, stands_still, NULL};
    static const struct store_world world = {&clock, &allocator_system, always_the_same, NULL};
    struct store_options options = store_options_default();
    options.run_id = "run";
    options.generation = 1;
    store = store_create(&options, &world);
    bench_must_have(store, "store_create");
}

/* ---- a publish: from the request's bytes to the answer's ---- */

static sw_buffer *requests[TIMES + 1];

static void encode_request(uint64_t step) {
    sw_entry entries[METRICS];
    char names[METRICS][48];
    for (int i = 0; i < METRICS; i++) {
        snprintf(names[i], sizeof names[i], "train/policy/some_loss_component_no_%02d", i);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_number(i / 3.0)};
    }
    const sw_value metrics = sw_dict(entries, METRICS);
    const sw_address address = {.run_id = "run", .channel = "train", .step = step};
    sw_buffer *bytes;
    bench_must(metrics_encode(&metrics, false, &bytes, NULL, &error), &error);
    bench_must(publish_metrics_request_encode(&address, bytes, &requests[step], &error), &error);
    sw_buffer_unref(bytes);
}

static void publish(uint64_t step) {
    struct arena arena;
    struct publish_metrics_request request;
    struct digest digest;
    sw_buffer *bytes, *response;
    bool duplicate;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    bench_must(publish_metrics_request_decode(sw_buffer_data(requests[step]), sw_buffer_size(requests[step]),
                                              &arena, &request, &error),
               &error);
    bench_must(metrics_encode(request.metrics, true, &bytes, &digest, &error), &error);
    bench_must(store_publish_metrics(store, &request.address, bytes, digest, &duplicate, &error), &error);
    bench_must(published_response_encode(duplicate, &response, &error), &error);
    sw_buffer_unref(response);
    sw_buffer_unref(bytes);
    arena_destroy(&arena);
}

static void prepare_publish(void) {
    open_store();
    for (uint64_t step = 0; step <= TIMES; step++) encode_request(step);
    publish(0);
}

static void run_publish(void) {
    for (uint64_t step = 1; step <= TIMES; step++) publish(step);
}

/* ---- pulls: of a held item, and those that a publish wakes ---- */

static struct pull_request waits[TIMES];
static struct store_pull pulls[TIMES];

static void answer(struct store_pull *pull) {
    uint8_t head[METRICS_HEAD_MAX];
    metrics_response_head(&pull->item->address, pull->item->published_unix_ns,
                          sw_buffer_size(pull->item->metrics), head);
}

static bool start(int i, uint64_t step) {
    waits[i] = (struct pull_request){.address = {.run_id = "run", .channel = "train", .step = step}};
    pulls[i] = (struct store_pull){
        .request = &waits[i], .kind = SW_METRICS, .until_ms = CLOCK_NEVER, .answered = answer};
    return store_pull_start(store, &pulls[i]);
}

static void release_all(void) {
    for (int i = 0; i < TIMES; i++) {
        bench_must(pulls[i].status, &pulls[i].error);
        store_item_release(store, pulls[i].item);
    }
}

static void prepare_wake(void) {
    prepare_publish();
    for (int i = 0; i < TIMES; i++) bench_must_have(!start(i, 1), "it waits");
}

/* One publish, TIMES wakes. */
static void run_wake(void) {
    publish(1);
    release_all();
}

static void run_pull(void) {
    for (int i = 0; i < TIMES; i++) {
        bench_must_have(start(i, 0), "it is there");
        answer(&pulls[i]);
    }
    release_all();
}

/* ---- a chunk: its header out, and in pieces in again, to its place ---- */

static struct reassembly *assembly;
static struct tensor_info infos[TIMES];
static char names[TIMES][16];
static const uint64_t one_byte_hash = 0; /* left out: the hash is xxHash's own affair, and the processor's */

static void take(const struct chunk_piece *pieces, size_t count) {
    enum reassembly_news news;
    bench_must(reassembly_take(assembly, pieces, count, &news, &error), &error);
}

static void prepare_chunk(void) {
    static const int64_t shape[] = {1};
    static struct wishes wishes;
    static const sw_address asked = {.run_id = "run", .generation = 1, .has_stage = true, .channel = "train"};
    for (int i = 0; i < TIMES; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        infos[i] = (struct tensor_info){
            .name = names[i], .dtype = SW_U8, .rank = 1, .shape = shape, .byte_length = 1};
    }
    const struct manifest manifest = {
        .address = asked, .tensor_count = TIMES, .tensors = infos, .block_bytes = 524288};
    const struct reassembly_options options = {
        .wishes = &wishes, .asked = &asked, .allocate = device_host.allocate, .allocator = &allocator_system};
    sw_buffer *bytes;
    bench_must(manifest_encode(&manifest, &bytes, &error), &error);
    assembly = reassembly_create(&options);
    bench_must_have(assembly, "reassembly_create");
    reassembly_stream_begins(assembly);
    take(&(struct chunk_piece){sw_buffer_data(bytes), sw_buffer_size(bytes)}, 1);
    sw_buffer_unref(bytes);
}

static void run_chunk(void) {
    static uint8_t message[CHUNK_HEADER_MAX + 1];
    for (uint32_t i = 0; i < TIMES; i++) {
        const struct chunk_header header = {.tensor = i, .xxh3 = one_byte_hash, .size = 1};
        size_t size = chunk_encode_header(&header, message) + 1;
        struct chunk_piece pieces[PIECES];
        for (size_t j = 0; j < PIECES; j++) {
            size_t from = j < size ? j : size, to = j + 1 < PIECES && j < size ? j + 1 : size;
            pieces[j] = (struct chunk_piece){message + from, to - from};
        }
        take(pieces, PIECES);
    }
}

/* ---- */

static const struct scene {
    const char *name;
    void (*prepare)(void), (*run)(void);
} scenes[] = {
    {"publish", prepare_publish, run_publish},
    {"wake", prepare_wake, run_wake},
    {"pull", prepare_publish, run_pull},
    {"chunk", prepare_chunk, run_chunk},
};

void measured(const struct scene *scene);

__attribute__((noinline)) void measured(const struct scene *scene) {
    scene->run();
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(argv[1], scenes[i].name) != 0) continue;
        scenes[i].prepare();
        measured(&scenes[i]);
        return 0;
    }
    fprintf(stderr, "usage: %s publish|wake|pull|chunk\n", argv[0]);
    return 2;
}
