#include "tests/soak/actors.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/measure.h"

#define CHANNEL "soak"
#define LARGE   (4 * MIB) /* is handed over as memory beside a Unix socket, and takes eight chunks over TCP */
#define SMALL   UINT64_C(1021) /* one chunk, which ends nowhere in particular */
#define SPREAD  MIB

static uint8_t *pattern(void) {
    static uint8_t bytes[LARGE + SPREAD];
    uint64_t state = 88172645463325252u; /* xorshift64; any but 0 will do */
    for (size_t i = 0; i < sizeof bytes; i += sizeof state) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes + i, &state, sizeof state);
    }
    return bytes;
}

/* LARGE bytes, others for each of SPREAD steps in a row. */
static const uint8_t *content(const uint8_t *from, uint64_t step) {
    return from + step * 8191 % SPREAD;
}

static _Noreturn void give_up(const char *what, uint64_t step) {
    fprintf(stderr, "soak: process %d: %s at step %" PRIu64 "\n", (int)getpid(), what, step);
    _exit(1);
}

/* ---- publishing ---- */

static void publish_tensors(sw_publisher *publisher, const sw_address *address, const uint8_t *bytes) {
    sw_buffer *memory;
    void *data;
    sw_error error;
    bench_must(sw_buffer_create(LARGE, &memory, &data, &error), &error);
    memcpy(data, bytes, LARGE);
    const sw_named_tensor tensors[] = {
        {"large", {SW_U8, 1, (const int64_t[]){LARGE}, data, LARGE}, memory},
        {"small", {SW_U8, 1, (const int64_t[]){SMALL}, bytes, SMALL}, NULL},
    };
    bench_must(sw_publish_tensors(publisher, address, tensors, 2, 0, NULL, &error), &error);
    sw_buffer_unref(memory);
}

static void publish_metrics(sw_publisher *publisher, const sw_address *address) {
    const sw_value metrics =
        sw_dict((sw_entry[]){{sw_text_of("step"), sw_integer((int64_t)address->step)}}, 1);
    sw_error error;
    bench_must(sw_publish_metrics(publisher, address, &metrics, 0, NULL, &error), &error);
}

static void count_publish(struct tally *tally, double took_us) {
    tally->steps++;
    tally->bytes += LARGE + SMALL;
    if (took_us > (double)tally->slowest_us) tally->slowest_us = (uint64_t)took_us;
}

_Noreturn void actor_publish(const char *target, struct tally *tally) {
    const uint8_t *bytes = pattern();
    sw_publisher *publisher = sw_client_publisher(measure_open(target));
    for (sw_address address = {.channel = CHANNEL};; address.step++) {
        double begun = bench_now_us();
        publish_tensors(publisher, &address, content(bytes, address.step));
        publish_metrics(publisher, &address);
        count_publish(tally, bench_now_us() - begun);
    }
}

/* ---- consuming ---- */

static void compare(const sw_tensors *tensors, const char *name, const uint8_t *bytes, uint64_t size) {
    const sw_tensor_view *view = sw_tensors_find(tensors, name);
    if (!view || view->size != size || memcmp(view->data, bytes, size) != 0)
        give_up("other bytes than were published", sw_tensors_address(tensors)->step);
}

/* The step that it is. */
static uint64_t check_tensors(const sw_tensors *tensors, const uint8_t *bytes) {
    uint64_t step = sw_tensors_address(tensors)->step;
    compare(tensors, "large", content(bytes, step), LARGE);
    compare(tensors, "small", content(bytes, step), SMALL);
    return step;
}

_Noreturn void actor_pull(const char *target, struct tally *tally) {
    const uint8_t *bytes = pattern();
    sw_client *client = measure_open(target);
    sw_pull pull = {.address = {.channel = CHANNEL}, .latest = true};
    for (;;) {
        sw_tensors *tensors;
        sw_error error;
        sw_status status = sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error);
        pull.latest = status != SW_OK && error.reason == SW_REASON_EVICTED;
        if (pull.latest) continue;
        bench_must(status, &error);
        pull.address.step = check_tensors(tensors, bytes) + 1;
        sw_tensors_destroy(tensors);
        tally->steps++;
        tally->bytes += LARGE + SMALL;
    }
}

static void check_metrics(const sw_watch_event *event, uint64_t next) {
    const sw_value *step = sw_dict_get(event->metrics, "step");
    if (event->address.step < next) give_up("a watch went back", event->address.step);
    if (!step || step->kind != SW_VALUE_INTEGER || (uint64_t)step->integer != event->address.step)
        give_up("other metrics than were published", event->address.step);
}

_Noreturn void actor_watch(const char *target, struct tally *tally) {
    const sw_watch_filter filter = {.channel = CHANNEL};
    sw_watch *watch;
    sw_error error;
    bench_must(sw_client_watch(measure_open(target), &filter, 1, SW_WATCH_NEW, NULL, 0, 0, &watch, &error),
               &error);
    for (uint64_t next = 0;;) {
        sw_watch_event event;
        bench_must(sw_watch_next(watch, 60000, &event, &error), &error);
        if (event.type == SW_EVENT_GAP) continue; /* it was stalled */
        if (event.type != SW_EVENT_PUBLISHED) give_up("an event that nobody caused", event.address.step);
        check_metrics(&event, next);
        next = event.address.step + 1;
        tally->steps++;
    }
}
