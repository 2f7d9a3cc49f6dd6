/* A pull against another program that moves as many bytes between processes of this machine, both
 * alternating.
 *
 *     bench_peers ROUNDS NAME REACH CONSUMERS MIB COMMAND...
 *
 * CONSUMERS pull at once, until the slowest has it. The command reads lines of how many bytes to move and
 * answers each with the microseconds that it took. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/malloc_settings.h"
#include "tests/support/endpoint.h"
#include "tests/support/measure.h"

#define CONSUMERS_MAX 8
#define REPEATS       16

struct peer {
    pid_t process;
    FILE *ask, *answer;
};

static struct peer peer;
static struct endpoint endpoint;
static char *into[CONSUMERS_MAX];
static int consumers;
static uint64_t size;

static void start_peer(char **command) {
    int down[2], up[2];
    bench_must_have(pipe(down) == 0 && pipe(up) == 0, "pipe");
    peer.process = fork();
    bench_must_have(peer.process >= 0, "fork");
    if (peer.process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(down[0], STDIN_FILENO), dup2(up[1], STDOUT_FILENO);
        close(down[0]), close(down[1]), close(up[0]), close(up[1]);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    close(down[0]), close(up[1]);
    peer.ask = fdopen(down[1], "w");
    peer.answer = fdopen(up[0], "r");
}

static void stop_peer(void) {
    fclose(peer.ask);
    waitpid(peer.process, NULL, 0);
}

static double ask_peer(void) {
    char line[64];
    fprintf(peer.ask, "%llu\n", (unsigned long long)size);
    fflush(peer.ask);
    bench_must_have(fgets(line, sizeof line, peer.answer) != NULL, "the peer ended");
    return atof(line);
}

static double pull(void) {
    sw_call *calls[CONSUMERS_MAX];
    sw_error error;
    const sw_pull asked = {.address = {.channel = "step"}};
    double begun = bench_now_us();
    for (int i = 0; i < consumers; i++) {
        const sw_tensor_request request = {"t", into[i], size};
        bench_must(sw_client_start_tensors(endpoint.tcp, &asked, &request, 1, &calls[i], &error), &error);
    }
    for (int i = 0; i < consumers; i++) {
        sw_tensors *tensors;
        bench_must(sw_call_finish_tensors(calls[i], &tensors, &error), &error);
        sw_tensors_destroy(tensors);
        sw_call_destroy(calls[i]);
    }
    return bench_now_us() - begun;
}

static double rate_of(double (*move)(void)) {
    double times[REPEATS];
    size_t repeats = size < 64 * MIB ? REPEATS : 1;
    for (size_t i = 0; i < repeats; i++) times[i] = move();
    return bench_rate(size, bench_quantile(times, repeats, 0.5));
}

static void compare(const char *against, double reach, int rounds) {
    char name[64];
    const char *unit = size < 1024 * MIB ? "MiB" : "GiB";
    snprintf(name, sizeof name, "stream of %d %s to %d", (int)(size / (size < 1024 * MIB ? MIB : 1024 * MIB)),
             unit, consumers);
    struct row row = {name, "GB/s", against, .reach.ratio = reach};
    for (int i = 0; i < 2; i++) rate_of(ask_peer), rate_of(pull);
    for (int i = 0; i < rounds; i++) {
        double base = rate_of(ask_peer);
        row_add(&row, base, rate_of(pull));
    }
    row_print(&row);
}

int main(int argc, char **argv) {
    if (argc < 7) {
        fprintf(stderr, "usage: %s ROUNDS NAME REACH CONSUMERS MIB COMMAND...\n", argv[0]);
        return 2;
    }
    int rounds = bench_rounds(2, argv);
    consumers = atoi(argv[4]);
    size = (uint64_t)atoi(argv[5]) * MIB;
    bench_must_have(consumers >= 1 && consumers <= CONSUMERS_MAX && size > 0, "CONSUMERS, MIB");
    malloc_keep_for_streams();
    start_peer(argv + 6);
    endpoint.more = (const char *const[]){"--store-bytes", "4g", NULL};
    endpoint_start(&endpoint);
    for (int i = 0; i < consumers; i++) {
        into[i] = malloc(size);
        bench_must_have(into[i], "malloc");
        memset(into[i], 1, size);
    }
    endpoint_connect(&endpoint);
    measure_publish(endpoint.local, "step", into[0], size);
    compare(argv[2], atof(argv[3]), rounds);
    endpoint_stop(&endpoint);
    stop_peer();
    return 0;
}
