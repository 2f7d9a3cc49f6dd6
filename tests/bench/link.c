/* A tensor over a long link, from a daemon in a network namespace to a client in another: of the link's rate,
 * and of what plain sockets get over it, in one connection and in several.
 *
 *     bench_link [ROUNDS]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/malloc_settings.h"
#include "tests/link/link.h"
#include "tests/support/baseline.h"
#include "tests/support/endpoint.h"
#include "tests/support/measure.h"

#define STEP_BYTES       (512 * MIB)
#define CONNECTIONS      8
#define CONNECTIONS_MOST 16         /* that a client may be told to open */
#define PART             (32 * MIB) /* what each plain connection gets, also when it is alone */
#define RATE_MBIT        2000
#define QUEUE_US         50000
#define MTU              9000

static const struct distance {
    const char *name;
    int64_t rtt_ms;
    unsigned loss_ppm;
    double reach;
} distances[] = {
    {"long link of 50 ms", 50, 0, 0.8},
    {"long link of 50 ms, 0.1 % lost", 50, 1000, 0.7},
    {"long link of 100 ms", 100, 0, 0.8},
    {"long link of 100 ms, 0.1 % lost", 100, 1000, 0.7},
};

static int rounds;

/* ---- the client's end ---- */

static char *into;
static struct baseline_client *raw[CONNECTIONS];

static double mb_per_s(uint64_t bytes, double us) {
    return bench_rate(bytes, us) * 1e3;
}

static void *ask_for_part(void *index) {
    uintptr_t i = (uintptr_t)index;
    baseline_ask(raw[i], into + i * PART, PART);
    return NULL;
}

static double raw_rate(uintptr_t connections) {
    pthread_t threads[CONNECTIONS];
    double begun = bench_now_us();
    for (uintptr_t i = 0; i < connections; i++)
        bench_must_have(pthread_create(&threads[i], NULL, ask_for_part, (void *)i) == 0, "pthread_create");
    for (uintptr_t i = 0; i < connections; i++) pthread_join(threads[i], NULL);
    return mb_per_s(connections * PART, bench_now_us() - begun);
}

static double our_rate(sw_client *client) {
    return mb_per_s(STEP_BYTES, measure_pull(client, "step", into, STEP_BYTES));
}

static void compare(sw_client *client, sw_client *client_of_many, const struct distance *distance) {
    char name[64];
    snprintf(name, sizeof name, "%s, 16 allowed", distance->name);
    struct row of_link = {distance->name, "MB/s", "the link's rate", .reach.ratio = distance->reach};
    struct row of_one = {distance->name, "MB/s", .against = "raw TCP"};
    struct row of_many = {distance->name, "MB/s", .against = "raw TCP, 8 connections"};
    struct row many_of_link = {name, "MB/s", .against = "the link's rate"};
    raw_rate(CONNECTIONS); /* until windows are open, and as many connections as it takes */
    for (int i = 0; i < 2; i++) our_rate(client), our_rate(client_of_many);
    for (int i = 0; i < rounds; i++) {
        double one = raw_rate(1), ours = our_rate(client);
        row_add(&of_link, RATE_MBIT / 8.0, ours);
        row_add(&of_one, one, ours);
        row_add(&of_many, raw_rate(CONNECTIONS), ours);
        row_add(&many_of_link, RATE_MBIT / 8.0, our_rate(client_of_many));
    }
    row_print(&of_link);
    row_print(&of_one);
    row_print(&of_many);
    row_print(&many_of_link);
}

static sw_client *open_for_many(const char *target) {
    sw_client *client;
    sw_client_options options;
    sw_error error;
    sw_client_options_init(&options);
    options.connections = CONNECTIONS_MOST;
    bench_must(sw_client_open(target, &options, &client, &error), &error);
    return client;
}

struct way {
    struct endpoint endpoint;
    struct baseline server;
    const struct distance *distance;
};

static void be_client(void *context) {
    struct way *way = context;
    malloc_keep_for_streams();
    into = malloc(STEP_BYTES);
    bench_must_have(into, "malloc");
    memset(into, 0x5a, STEP_BYTES);
    for (int i = 0; i < CONNECTIONS; i++) raw[i] = baseline_connect(&way->server);
    endpoint_connect(&way->endpoint);
    sw_client *client_of_many = open_for_many(daemon_target(way->endpoint.daemon, 0));
    measure_publish(way->endpoint.local, "step", into, STEP_BYTES);
    compare(way->endpoint.tcp, client_of_many, way->distance);
    sw_client_close(client_of_many);
    sw_client_close(way->endpoint.tcp);
    sw_client_close(way->endpoint.local);
    for (int i = 0; i < CONNECTIONS; i++) baseline_close(raw[i]);
}

/* ---- the link and its other end ---- */

static struct link *open_link(const struct distance *distance) {
    const struct link_options options = {.delay_us = distance->rtt_ms * 1000 / 2,
                                         .rate_mbit = RATE_MBIT,
                                         .queue_us = QUEUE_US,
                                         .loss_ppm = distance->loss_ppm,
                                         .seed = 1,
                                         .mtu = MTU};
    const char *why;
    struct link *link = link_open(&options, &why);
    if (!link) printf("left out: long link (%s)\n", why);
    return link;
}

static void measure(struct link *link, const struct distance *distance) {
    struct way way = {
        .endpoint = {.host = LINK_NEAR_ADDRESS, .more = (const char *const[]){"--insecure-plaintext", NULL}},
        .server = {BASELINE_TCP, .host = LINK_NEAR_ADDRESS, .largest_answer = PART},
        .distance = distance};
    link_go_near(link);
    endpoint_start(&way.endpoint);
    baseline_start(&way.server);
    link_go_far(link);
    measure_apart(be_client, &way);
    baseline_stop(&way.server);
    endpoint_stop(&way.endpoint);
    link_close(link);
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        struct link *link = open_link(&distances[i]);
        if (!link) return 0;
        measure(link, &distances[i]);
    }
    return 0;
}
