/* How cost grows with what is there and with what is moved. A line of JSON a measure; growth.py draws them.
 *
 *     bench_growth [MIB]     the largest tensor, 1024 without
 *
 * What counts is processor time, the endpoint's and ours together, as a multiple of what a pull of the only
 * item of another endpoint takes: both alternate, so that what the machine's load does to one it does to the
 * other.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/endpoint.h"
#include "tests/support/measure.h"

#define ROUNDS      15
#define LOOKUPS     60 /* a round */
#define WAITERS_MAX 4096
#define COUNT_MAX   100000
#define TENSORS_MAX 16384
#define TENSOR      16 /* bytes, where they are many */

static struct endpoint lone, ours; /* lone holds one item */

static void open_endpoint(struct endpoint *endpoint, const char *const *more) {
    *endpoint = (struct endpoint){.more = more};
    endpoint_start(endpoint);
    endpoint_connect(endpoint);
}

/* ---- metrics ---- */

static void publish(const struct endpoint *endpoint, const char *channel, uint64_t step) {
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("loss"), sw_number(0.25)}}, 1);
    sw_error error;
    bench_must(sw_publish_metrics(sw_client_publisher(endpoint->local),
                                  &(sw_address){.channel = channel, .step = step}, &metrics, 0, NULL, &error),
               &error);
}

static void pull(const struct endpoint *endpoint, const char *channel, uint64_t step) {
    const sw_pull pull = {.address = {.channel = channel, .step = step}};
    sw_metrics *metrics;
    sw_error error;
    bench_must(sw_client_get_metrics(endpoint->tcp, &pull, &metrics, &error), &error);
    sw_metrics_destroy(metrics);
}

static void pull_lone(uint64_t n) {
    (void)n;
    pull(&lone, "lone", 0);
}

/* ---- cost ---- */

static double clock_us(clockid_t clock) {
    struct timespec time;
    bench_must_have(clock_gettime(clock, &time) == 0, "clock_gettime");
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Of both sides, until now. */
static double processor_us(const struct endpoint *endpoint) {
    clockid_t clock;
    bench_must_have(clock_getcpuclockid(daemon_pid(endpoint->daemon), &clock) == 0, "clock_getcpuclockid");
    return clock_us(clock) + clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

static double cost(const struct endpoint *endpoint, void (*work)(uint64_t n), uint64_t n, unsigned times) {
    double begun = processor_us(endpoint);
    for (unsigned i = 0; i < times; i++) work(n);
    return (processor_us(endpoint) - begun) / times;
}

static void nothing(uint64_t n) {
    (void)n;
}

/* What is counted is `work`, `times` a round; what it needs each round comes first. */
struct measure {
    const char *of, *name, *grows; /* of: what n counts; grows: "flat" or "linear" */
    unsigned times;
    void (*prepare)(uint64_t n);
    void (*work)(uint64_t n);
};

static void measure(const struct measure *measure, uint64_t n) {
    double pulls[ROUNDS], us[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double lone_us = cost(&lone, pull_lone, n, LOOKUPS);
        measure->prepare(n);
        us[i] = cost(&ours, measure->work, n, measure->times);
        pulls[i] = us[i] / lone_us;
    }
    printf("{\"of\": \"%s\", \"name\": \"%s\", \"grows\": \"%s\", \"n\": %" PRIu64
           ", \"pulls\": %.3f, \"us\": %.1f}\n",
           measure->of, measure->name, measure->grows, n, bench_quantile(pulls, ROUNDS, 0.5),
           bench_quantile(us, ROUNDS, 0.5));
    fflush(stdout);
}

/* ---- those who wait ---- */

static sw_call *waiting[WAITERS_MAX];
static uint64_t awaited, beside;

static void wait_for_next(uint64_t n) {
    const sw_pull pull = {.address = {.channel = "awaited", .step = ++awaited}};
    sw_error error;
    for (uint64_t i = 0; i < n; i++)
        bench_must(sw_client_start_metrics(ours.tcp, &pull, &waiting[i], &error), &error);
    for (uint64_t there = 0; there < n;) {
        sw_info *info;
        bench_must(sw_client_info(ours.local, 0, &info, &error), &error);
        there = info->waiting;
        sw_info_destroy(info);
    }
}

static void wake(uint64_t n) {
    publish(&ours, "awaited", awaited);
    for (uint64_t i = 0; i < n; i++) {
        sw_metrics *metrics;
        sw_error error;
        bench_must(sw_call_finish_metrics(waiting[i], &metrics, &error), &error);
        sw_metrics_destroy(metrics);
        sw_call_destroy(waiting[i]);
    }
}

static void pull_beside(uint64_t n) {
    (void)n;
    pull(&ours, "beside", beside);
}

static void publish_beside(uint64_t n) {
    (void)n;
    publish(&ours, "beside", ++beside);
}

static void measure_waiters(void) {
    open_endpoint(&ours, (const char *const[]){"--max-calls", "16384", "--max-streams", "16384", NULL});
    publish(&ours, "beside", beside);
    for (uint64_t n = 1; n <= WAITERS_MAX; n *= 4) {
        measure(&(struct measure){"waiters", "wake them all", "linear", 1, wait_for_next, wake}, n);
        wait_for_next(n);
        measure(&(struct measure){"waiters", "pull beside", "flat", LOOKUPS, nothing, pull_beside}, n);
        measure(&(struct measure){"waiters", "publish beside", "flat", LOOKUPS, nothing, publish_beside}, n);
        wake(n);
    }
    endpoint_stop(&ours);
}

/* ---- channels, and steps of a channel ---- */

static uint64_t steps[COUNT_MAX]; /* the newest a channel */
static uint64_t turn;

static uint64_t any_of(uint64_t n) {
    return ++turn * 2654435761u % n;
}

static const char *name_of(uint64_t channel) {
    static char name[32];
    snprintf(name, sizeof name, "channel-%" PRIu64, channel);
    return name;
}

static void pull_any_channel(uint64_t n) {
    uint64_t channel = any_of(n);
    pull(&ours, name_of(channel), steps[channel]);
}

static void publish_any_channel(uint64_t n) {
    uint64_t channel = any_of(n);
    publish(&ours, name_of(channel), ++steps[channel]);
}

static void measure_channels(void) {
    open_endpoint(&ours, (const char *const[]){"--keep-steps", "1", NULL});
    uint64_t there = 0;
    for (uint64_t n = 1; n <= COUNT_MAX / 10; n *= 10) {
        while (there < n) publish(&ours, name_of(there++), 0);
        measure(&(struct measure){"channels", "pull", "flat", LOOKUPS, nothing, pull_any_channel}, n);
        measure(&(struct measure){"channels", "publish", "flat", LOOKUPS, nothing, publish_any_channel}, n);
    }
    endpoint_stop(&ours);
}

static uint64_t newest;

static void pull_any_step(uint64_t n) {
    pull(&ours, name_of(n), newest - any_of(n));
}

/* The oldest goes. */
static void publish_next_step(uint64_t n) {
    publish(&ours, name_of(n), ++newest);
}

static sw_lease *keep(uint64_t n) {
    const sw_channel_policy policy = {.channel = name_of(n), .kind = SW_METRICS, .keep_steps = (uint32_t)n};
    const sw_attachment attachment = {.stage_count = 1, .policies = &policy, .policy_count = 1};
    sw_lease *lease;
    sw_error error;
    bench_must(sw_attach(sw_client_publisher(ours.local), &attachment, 0, &lease, NULL, &error), &error);
    return lease;
}

static void measure_steps(void) {
    open_endpoint(&ours, (const char *const[]){"--metrics-bytes", "1g", NULL});
    for (uint64_t n = 1; n <= COUNT_MAX; n *= 10) {
        sw_lease *lease = keep(n);
        for (newest = 0; newest < n;) publish_next_step(n);
        measure(&(struct measure){"steps held", "pull", "flat", LOOKUPS, nothing, pull_any_step}, n);
        measure(&(struct measure){"steps held", "publish", "flat", LOOKUPS, nothing, publish_next_step}, n);
        sw_lease_release(lease);
    }
    endpoint_stop(&ours);
}

/* ---- tensors ---- */

static uint8_t *source, *destination;
static uint64_t step;

static void publish_tensors(const sw_named_tensor *tensors, size_t count) {
    sw_error error;
    bench_must(sw_publish_tensors(sw_client_publisher(ours.local),
                                  &(sw_address){.channel = "tensors", .step = ++step}, tensors, count, 0,
                                  NULL, &error),
               &error);
}

static void pull_tensors(const sw_tensor_request *requests, uint32_t count) {
    const sw_pull pull = {.address = {.channel = "tensors", .step = step}};
    sw_tensors *tensors;
    sw_error error;
    bench_must(sw_client_get_tensors(ours.tcp, &pull, requests, count, &tensors, &error), &error);
    sw_tensors_destroy(tensors);
}

static void publish_many(uint64_t n) {
    static sw_named_tensor tensors[TENSORS_MAX];
    static char names[TENSORS_MAX][16];
    static const int64_t shape[] = {TENSOR};
    for (uint64_t i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "t%" PRIu64, i);
        tensors[i] = (sw_named_tensor){names[i], {SW_U8, 1, shape, source + i * TENSOR, TENSOR}, NULL};
    }
    publish_tensors(tensors, n);
}

static void pull_many(uint64_t n) {
    (void)n;
    pull_tensors(NULL, 0);
}

static void publish_large(uint64_t size) {
    const int64_t shape[] = {(int64_t)size};
    publish_tensors(&(sw_named_tensor){"t0", {SW_U8, 1, shape, source, size}, NULL}, 1);
}

static void pull_large(uint64_t size) {
    pull_tensors(&(sw_tensor_request){"t0", destination, size}, 1);
}

static void measure_tensors(uint64_t largest) {
    char store[32];
    snprintf(store, sizeof store, "%" PRIu64, largest + largest / 4);
    open_endpoint(&ours, (const char *const[]){"--store-bytes", store, NULL});
    for (uint64_t n = 1; n <= TENSORS_MAX; n *= 4) {
        measure(&(struct measure){"tensors in a step", "publish", "linear", 1, nothing, publish_many}, n);
        measure(&(struct measure){"tensors in a step", "pull", "linear", 1, nothing, pull_many}, n);
    }
    for (uint64_t size = 16; size <= largest; size *= 4) {
        unsigned times = size < MIB ? LOOKUPS / 2 : 1;
        measure(&(struct measure){"bytes of a tensor", "publish", "linear", times, nothing, publish_large},
                size);
        measure(&(struct measure){"bytes of a tensor", "pull", "linear", times, nothing, pull_large}, size);
    }
    endpoint_stop(&ours);
}

/* All on one processor: a call costs more or less as its ends happen to run on one or on two. */
static void stay_on_one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    bench_must_have(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

/* A descriptor for each that waits. */
static void allow_descriptors(void) {
    struct rlimit limit;
    bench_must_have(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    bench_must_have(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

int main(int argc, char **argv) {
    uint64_t largest = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1024) * MIB;
    if (largest == 0) {
        fprintf(stderr, "usage: %s [MIB]\n", argv[0]);
        return 2;
    }
    allow_descriptors();
    stay_on_one_processor();
    source = malloc(largest);
    destination = malloc(largest);
    bench_must_have(source && destination, "malloc");
    memset(source, 0x5a, largest);
    memset(destination, 0, largest);
    open_endpoint(&lone, (const char *const[]){NULL});
    publish(&lone, "lone", 0);
    measure_waiters();
    measure_channels();
    measure_steps();
    measure_tensors(largest);
    endpoint_stop(&lone);
    free(source);
    free(destination);
    return 0;
}
