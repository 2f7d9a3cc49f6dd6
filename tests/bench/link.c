/* A tensor over a long link, from a daemon in a network namespace to a client in another: of the link's rate,
 * and of what plain sockets get over it, in one connection and in several.
 *
 *     bench_link [ROUNDS]
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/malloc_settings.h"
#include "tests/link/link.h"
#include "tests/support/baseline.h"
#include "tests/support/daemon.h"
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

static _Noreturn void be_client(const struct daemon *daemon, const struct baseline *server,
                                const struct distance *distance) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    malloc_keep_for_streams();
    into = malloc(STEP_BYTES);
    bench_must_have(into, "malloc");
    memset(into, 0x5a, STEP_BYTES);
    for (int i = 0; i < CONNECTIONS; i++) raw[i] = baseline_connect(server);
    sw_client *publishing = measure_open(daemon_target(daemon, 1));
    sw_client *client = measure_open(daemon_target(daemon, 0));
    sw_client *client_of_many = open_for_many(daemon_target(daemon, 0));
    measure_publish(publishing, "step", into, STEP_BYTES);
    compare(client, client_of_many, distance);
    sw_client_close(client_of_many);
    sw_client_close(publishing);
    sw_client_close(client);
    for (int i = 0; i < CONNECTIONS; i++) baseline_close(raw[i]);
    exit(0);
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

static struct daemon *start_daemon(void) {
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/stagewire-bench-%d.sock", (int)getpid());
    struct daemon *daemon =
        daemon_start((const char *const[]){"--listen", LINK_NEAR_ADDRESS ":0", "--listen", path, "--run-id",
                                           "bench", "--insecure-plaintext", NULL});
    bench_must_have(daemon, "stagewired");
    return daemon;
}

/* A process of its own: gRPC's threads would stay at the end of the first link. */
static void run_client(const struct daemon *daemon, const struct baseline *server,
                       const struct distance *distance) {
    int status;
    pid_t process = fork();
    bench_must_have(process >= 0, "fork");
    if (process == 0) be_client(daemon, server, distance);
    bench_must_have(waitpid(process, &status, 0) == process, "waitpid");
    if (status != 0) exit(1); /* it has said why */
}

static void measure(struct link *link, const struct distance *distance) {
    struct baseline server = {BASELINE_TCP, .host = LINK_NEAR_ADDRESS, .largest_answer = PART};
    link_go_near(link);
    struct daemon *daemon = start_daemon();
    baseline_start(&server);
    link_go_far(link);
    run_client(daemon, &server, distance);
    baseline_stop(&server);
    daemon_stop(daemon);
    daemon_destroy(daemon);
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
