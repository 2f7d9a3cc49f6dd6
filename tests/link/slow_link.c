/* Pulls and a watch over a long link that loses packets: all arrives, whole, and how fast is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "tests/link/link.h"
#include "tests/support/daemon.h"

enum {
    DELAY_US = 20000,
    LOSS_PPM = 10000,
    PULLS = 50,
    EVENTS = 500,
    MTU = 1500,
    MIB = 1 << 20,
    TENSOR_BYTES = 4 * MIB
};
enum { TIMEOUT_MS = 240000 };

static sw_error error;

static void ok(sw_status status, const char *what) {
    if (status == SW_OK) return;
    printf("%s: %s\n", what, error.message);
    exit(1);
}

static void holds(bool is_so, const char *what) {
    if (is_so) return;
    printf("%s\n", what);
    exit(1);
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static sw_client *client_of(const char *endpoint) {
    sw_client *client;
    ok(sw_client_open(endpoint, NULL, &client, &error), "a client");
    return client;
}

static void publish(sw_client *client, uint64_t step) {
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer((int64_t)step)}}, 1);
    sw_address at = {.channel = "train", .step = step};
    ok(sw_publish_metrics(sw_client_publisher(client), &at, &metrics, TIMEOUT_MS, NULL, &error), "publish");
}

/* ---- metrics ---- */

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void pull_metrics(sw_client *client) {
    double took[PULLS];
    for (uint64_t step = 0; step < PULLS; step++) {
        sw_metrics *metrics;
        sw_pull pull = {.address = {.channel = "train", .step = step}, .timeout_ms = TIMEOUT_MS};
        double begun = now_ms();
        ok(sw_client_get_metrics(client, &pull, &metrics, &error), "a pull");
        took[step] = now_ms() - begun;
        holds(sw_dict_get(sw_metrics_value(metrics), "v")->integer == (int64_t)step, "another value came");
        sw_metrics_destroy(metrics);
    }
    qsort(took, PULLS, sizeof *took, compare);
    printf("%d pulls of metrics: %.1f ms in the middle, %.1f ms at most (the link alone: %d ms)\n", PULLS,
           took[PULLS / 2], took[PULLS - 1], 2 * DELAY_US / 1000);
}

static void watch_metrics(sw_client *far, sw_client *near) {
    sw_watch *watch;
    sw_watch_event event;
    ok(sw_client_watch(far, NULL, 0, SW_WATCH_OLDEST_HELD, NULL, 0, TIMEOUT_MS, &watch, &error), "a watch");
    for (uint64_t step = PULLS; step < EVENTS; step++) publish(near, step);
    double begun = now_ms();
    for (uint64_t step = 0; step < EVENTS; step++) {
        ok(sw_watch_next(watch, TIMEOUT_MS, &event, &error), "an event");
        holds(event.type == SW_EVENT_PUBLISHED && event.address.step == step,
              "an event is missing, or twice");
    }
    printf("%d events of a watch, each once and in order, in %.0f ms\n", EVENTS, now_ms() - begun);
    sw_watch_close(watch);
}

/* ---- tensors ---- */

static void pull_tensor(sw_client *far, sw_client *near) {
    uint8_t *bytes = malloc(TENSOR_BYTES);
    sw_tensors *tensors;
    holds(bytes != NULL, "no memory");
    for (size_t i = 0; i < TENSOR_BYTES; i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    const int64_t shape[] = {TENSOR_BYTES};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, bytes, TENSOR_BYTES}};
    sw_address at = {.channel = "logits", .step = 1};
    ok(sw_publish_tensors(sw_client_publisher(near), &at, &tensor, 1, TIMEOUT_MS, NULL, &error), "publish");
    sw_pull pull = {.address = at, .timeout_ms = TIMEOUT_MS};
    double begun = now_ms();
    ok(sw_client_get_tensors(far, &pull, NULL, 0, &tensors, &error), "a pull of a tensor");
    double took = now_ms() - begun;
    holds(memcmp(sw_tensors_find(tensors, "t")->data, bytes, TENSOR_BYTES) == 0, "the tensor differs");
    printf("%d MiB of a tensor, to the bit, in %.1f s: %.2f MiB/s\n", TENSOR_BYTES / MIB, took / 1e3,
           TENSOR_BYTES / MIB / (took / 1e3));
    sw_tensors_destroy(tensors);
    free(bytes);
}

int main(void) {
    const struct link_options options = {.delay_us = DELAY_US, .loss_ppm = LOSS_PPM, .seed = 1, .mtu = MTU};
    const char *why;
    struct link *link = link_open(&options, &why);
    if (!link) {
        printf("SKIPPED: there can be no link here: %s\n", why);
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    char folder[] = "/tmp/stagewire-link-XXXXXX", socket[64];
    holds(mkdtemp(folder) != NULL, "no folder");
    snprintf(socket, sizeof socket, "unix:%s/s", folder);
    link_go_near(link);
    struct daemon *daemon =
        daemon_start((const char *const[]){"--listen", LINK_NEAR_ADDRESS ":0", "--listen", socket, "--run-id",
                                           "run-a", "--insecure-plaintext", NULL});
    holds(daemon != NULL, "no endpoint");
    link_go_far(link);
    sw_client *near = client_of(socket), *far = client_of(daemon_target(daemon, 0));
    for (uint64_t step = 0; step < PULLS; step++) publish(near, step);
    pull_metrics(far);
    watch_metrics(far, near);
    pull_tensor(far, near);
    struct link_counts counts = link_count(link);
    printf("%" PRIu64 " packets, %" PRIu64 " lost, %" PRIu64 " crowded out\n", counts.packets, counts.lost,
           counts.crowded_out);
    holds(counts.bytes > TENSOR_BYTES && counts.lost > 0, "it did not come over the link");
    sw_client_close(far);
    sw_client_close(near);
    int status = daemon_stop(daemon);
    daemon_destroy(daemon);
    rmdir(folder);
    link_close(link);
    return status == 0 ? 0 : 1;
}
