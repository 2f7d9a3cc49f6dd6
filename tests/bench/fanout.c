/* Many consumers of one step: what they get together against what one gets alone, what that costs the
 * endpoint and a consumer in memory, and whether the publisher notices them.
 *
 *     bench_fanout [ROUNDS]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/malloc_settings.h"
#include "tests/support/endpoint.h"
#include "tests/support/folder.h"
#include "tests/support/measure.h"

#define STEP_BYTES  (256 * MIB)
#define PROCESSES   8
#define PULLS       8 /* a process: they share its memory, which one thread fills */
#define CALLS       200
#define MTLS_ROUNDS 3 /* which take long, and memory is much the same in all */

static struct endpoint endpoint;
static int rounds;

/* ---- memory ---- */

static double status_mib(pid_t process, const char *field) {
    char path[64], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "re");
    bench_must_have(file, path);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0) kib = atof(line + strlen(field));
    fclose(file);
    return kib / 1024;
}

/* From here on, the peak is what is reached from here on. */
static void forget_peak(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)process);
    FILE *file = fopen(path, "we");
    bench_must_have(file && fputs("5", file) >= 0 && fclose(file) == 0, path);
}

/* `idle` is what it had before its first pull: what it has kept since then counts. */
static double above(pid_t process, double idle) {
    double peak = status_mib(process, "VmHWM:");
    return peak > idle ? peak - idle : 0;
}

/* ---- consumers, each a process ---- */

struct consumer {
    pid_t process;
    FILE *ask, *answer;
};

static struct consumer consumers[PROCESSES];

static void pull_together(sw_client *client, int pulls, char *into) {
    sw_call *calls[PULLS];
    sw_error error;
    const sw_pull pull = {.address = {.channel = "step"}};
    const sw_tensor_request request = {"t", into, STEP_BYTES};
    for (int i = 0; i < pulls; i++)
        bench_must(sw_client_start_tensors(client, &pull, &request, 1, &calls[i], &error), &error);
    for (int i = 0; i < pulls; i++) {
        sw_tensors *tensors;
        bench_must(sw_call_finish_tensors(calls[i], &tensors, &error), &error);
        sw_tensors_destroy(tensors);
        sw_call_destroy(calls[i]);
    }
}

/* Reads "PULLS" and, when they are done, says how much memory they took, in MiB. */
static void consume(FILE *ask, FILE *answer) {
    char line[32], *into = malloc(STEP_BYTES);
    bench_must_have(into, "malloc");
    memset(into, 1, STEP_BYTES);
    malloc_keep_for_streams();
    sw_client *client = endpoint_client(&endpoint);
    double idle = status_mib(getpid(), "VmRSS:");
    while (fgets(line, sizeof line, ask)) {
        forget_peak(getpid());
        pull_together(client, atoi(line), into);
        fprintf(answer, "%.2f\n", above(getpid(), idle));
        fflush(answer);
    }
    _exit(0);
}

static void start_consumer(struct consumer *consumer) {
    int down[2], up[2];
    bench_must_have(pipe(down) == 0 && pipe(up) == 0, "pipe");
    consumer->process = fork();
    bench_must_have(consumer->process >= 0, "fork");
    if (consumer->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(down[1]), close(up[0]);
        consume(fdopen(down[0], "r"), fdopen(up[1], "w"));
    }
    close(down[0]), close(up[1]);
    consumer->ask = fdopen(down[1], "w");
    consumer->answer = fdopen(up[0], "r");
}

static void ask(const struct consumer *consumer, int pulls) {
    fprintf(consumer->ask, "%d\n", pulls);
    fflush(consumer->ask);
}

static double answer_of(const struct consumer *consumer) {
    char line[32];
    bench_must_have(fgets(line, sizeof line, consumer->answer) != NULL, "a consumer");
    return atof(line);
}

/* *ret_memory: of the consumer that took most. */
static double rate_of(int processes, int pulls, double *ret_memory) {
    double begun = bench_now_us();
    *ret_memory = 0;
    for (int i = 0; i < processes; i++) ask(&consumers[i], pulls);
    for (int i = 0; i < processes; i++) {
        double memory = answer_of(&consumers[i]);
        if (memory > *ret_memory) *ret_memory = memory;
    }
    return bench_rate(STEP_BYTES * (uint64_t)(processes * pulls), bench_now_us() - begun);
}

/* ---- rows ---- */

/* What is measured over a kind of link, and what it is to reach. */
struct kind {
    const char *name, *of_the_endpoint, *of_a_consumer;
    bool is_secure, also_publishes;
    int rounds;
    double rate, endpoint_mib, consumer_mib;
};

static void fan_out(const struct kind *kind) {
    struct row rate = {kind->name, "GB/s", "one alone", .reach.ratio = kind->rate};
    struct row held = {kind->of_the_endpoint, "MiB", "one alone", .less_is_better = true,
                       .reach.value = kind->endpoint_mib};
    struct row consumer = {kind->of_a_consumer, "MiB", "one alone", .less_is_better = true,
                           .reach.value = kind->consumer_mib};
    pid_t process = daemon_pid(endpoint.daemon);
    double memory, alone, idle = status_mib(process, "VmRSS:");
    rate_of(1, 1, &alone);
    double one = above(process, idle) + 0.01; /* before the first round: what it takes is kept for later */
    for (int i = 0; i < kind->rounds; i++) {
        double base = rate_of(1, 1, &memory);
        forget_peak(process);
        row_add(&rate, base, rate_of(PROCESSES, PULLS, &memory));
        row_add(&held, one, above(process, idle));
        row_add(&consumer, alone + 0.01, memory / PULLS);
    }
    row_print(&rate);
    row_print(&held);
    row_print(&consumer);
}

static double publish(void) {
    static double times[CALLS];
    static uint64_t step;
    for (int i = 0; i < CALLS; i++) {
        double begun = bench_now_us();
        measure_publish_metrics(endpoint.local, ++step);
        times[i] = bench_now_us() - begun;
    }
    return bench_quantile(times, CALLS, 0.5);
}

/* Those that pull and are not read from hold their streams open: nobody works for them. */
static void stall(int signal_number) {
    for (int i = 0; i < PROCESSES; i++) kill(consumers[i].process, signal_number);
}

static void beside_consumers(void) {
    struct row row = {"publish beside 64 stalled consumers", "us", "alone", .less_is_better = true,
                      .reach.ratio = 1};
    publish();
    for (int i = 0; i < rounds; i++) {
        double memory, base = publish();
        for (int j = 0; j < PROCESSES; j++) ask(&consumers[j], PULLS);
        stall(SIGSTOP);
        row_add(&row, base, publish());
        stall(SIGCONT);
        for (int j = 0; j < PROCESSES; j++) memory = answer_of(&consumers[j]);
        (void)memory;
    }
    row_print(&row);
}

/* ---- both kinds of link ---- */

static void publish_step(void) {
    char *bytes = malloc(STEP_BYTES);
    bench_must_have(bytes, "malloc");
    memset(bytes, 0x5a, STEP_BYTES);
    measure_publish(endpoint.local, "step", bytes, STEP_BYTES);
    free(bytes);
}

static void stop_consumers(void) {
    for (int i = 0; i < PROCESSES; i++) {
        kill(consumers[i].process, SIGKILL);
        waitpid(consumers[i].process, NULL, 0);
    }
}

static void measure(void *context) {
    const struct kind *kind = context;
    char certs[] = "/tmp/stagewire-bench-XXXXXX";
    endpoint_make_certs(certs);
    if (kind->is_secure) endpoint.certs = certs;
    endpoint_start(&endpoint);
    for (int i = 0; i < PROCESSES; i++) start_consumer(&consumers[i]);
    endpoint_connect(&endpoint);
    publish_step();
    fan_out(kind);
    if (kind->also_publishes) beside_consumers();
    stop_consumers();
    endpoint_stop(&endpoint);
    folder_remove(certs);
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    struct kind plaintext = {.name = "64 consumers of 256 MiB, together",
                             .of_the_endpoint = "  memory of the endpoint above the step",
                             .of_a_consumer = "  memory of a consumer, a pull",
                             .also_publishes = true,
                             .rounds = rounds,
                             .rate = 0.9,
                             .endpoint_mib = 16,
                             .consumer_mib = 32};
    struct kind mtls = {.name = "64 consumers of 256 MiB, together, mTLS",
                        .of_the_endpoint = "  memory of the endpoint above the step, mTLS",
                        .of_a_consumer = "  memory of a consumer, a pull, mTLS",
                        .is_secure = true,
                        .rounds = rounds < MTLS_ROUNDS ? rounds : MTLS_ROUNDS,
                        .endpoint_mib = 32,
                        .consumer_mib = 64};
    measure_apart(measure, &plaintext);
    measure_apart(measure, &mtls);
    return 0;
}
