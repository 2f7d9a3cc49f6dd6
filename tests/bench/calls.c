/* How long small things take: a pull of held metrics, and from a publish to those who wait for it, against a
 * plain request of as many bytes over the same kind of socket.
 *
 *     bench_calls [ROUNDS]
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/support/baseline.h"
#include "tests/support/daemon.h"
#include "tests/support/measure.h"

#define CALLS   2000
#define WAKES   300
#define WAITERS 64
#define ANSWER  1024 /* bytes: what 20 metrics take */

static struct daemon *daemon_;
static sw_client *publishing;
static uint64_t step;
static int rounds;

static double raw_call(struct baseline_client *raw) {
    static double times[CALLS];
    char answer[ANSWER];
    for (int i = 0; i < CALLS; i++) times[i] = baseline_ask(raw, answer, sizeof answer);
    return bench_quantile(times, CALLS, 0.5);
}

static double pull_once(sw_client *client) {
    const sw_pull pull = {.address = {.channel = "train", .step = 1}};
    sw_metrics *metrics;
    sw_error error;
    double begun = bench_now_us();
    bench_must(sw_client_get_metrics(client, &pull, &metrics, &error), &error);
    double took = bench_now_us() - begun;
    sw_metrics_destroy(metrics);
    return took;
}

static void pulls(struct row row, struct row tail, sw_client *client, struct baseline_client *raw) {
    static double times[CALLS];
    for (int round = 0; round < rounds; round++) {
        double base = raw_call(raw);
        for (int i = 0; i < CALLS; i++) times[i] = pull_once(client);
        row_add(&row, base, bench_quantile(times, CALLS, 0.5));
        row_add(&tail, base, bench_quantile(times, CALLS, 0.99));
    }
    row_print(&row);
    row_print(&tail);
}

/* ---- waking ---- */

static void wait_until_waiting(uint64_t count) {
    sw_error error;
    for (uint64_t waiting = 0; waiting < count;) {
        sw_info *info;
        bench_must(sw_client_info(publishing, 0, &info, &error), &error);
        waiting = info->waiting;
        sw_info_destroy(info);
    }
}

static void finish(sw_call *call) {
    sw_metrics *metrics;
    sw_error error;
    bench_must(sw_call_finish_metrics(call, &metrics, &error), &error);
    sw_metrics_destroy(metrics);
    sw_call_destroy(call);
}

/* From the call of publish, over RPC to the daemon, until the last that waited has the metrics. */
static double wake_once(sw_client *client, int waiters) {
    sw_call *calls[WAITERS];
    sw_error error;
    const sw_pull pull = {.address = {.channel = "train", .step = ++step}};
    for (int i = 0; i < waiters; i++)
        bench_must(sw_client_start_metrics(client, &pull, &calls[i], &error), &error);
    wait_until_waiting((uint64_t)waiters);
    double begun = bench_now_us();
    measure_publish_metrics(publishing, step);
    for (int i = 0; i < waiters; i++) finish(calls[i]);
    return bench_now_us() - begun;
}

static double wake(sw_client *client, int waiters) {
    double times[WAKES];
    int wakes = waiters > 1 ? WAKES / 10 : WAKES;
    for (int i = 0; i < wakes; i++) times[i] = wake_once(client, waiters);
    return bench_quantile(times, (size_t)wakes, 0.5);
}

static void wakes(sw_client *client, struct baseline_client *raw) {
    struct row one = {"publish to one that waits, TCP", "us", "a raw TCP request", .less_is_better = true,
                      .reach.value = 250};
    struct row more = {"  each further one that waits", "us", "the first", .less_is_better = true,
                       .reach.value = 20};
    for (int round = 0; round < rounds; round++) {
        double base = raw_call(raw), first = wake(client, 1);
        row_add(&one, base, first);
        row_add(&more, first, (wake(client, WAITERS) - first) / (WAITERS - 1));
    }
    row_print(&one);
    row_print(&more);
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    struct baseline tcp_server = {BASELINE_TCP, .largest_answer = ANSWER};
    struct baseline unix_server = {BASELINE_UNIX, .largest_answer = ANSWER};
    baseline_start(&tcp_server);
    baseline_start(&unix_server);
    struct baseline_client *raw_tcp = baseline_connect(&tcp_server),
                           *raw_unix = baseline_connect(&unix_server);
    char path[64];
    snprintf(path, sizeof path, "unix:/tmp/stagewire-bench-%d.sock", (int)getpid());
    daemon_ = daemon_start(
        (const char *const[]){"--listen", "127.0.0.1:0", "--listen", path, "--run-id", "bench", NULL});
    bench_must_have(daemon_, "stagewired");
    sw_client *tcp_client = measure_open(daemon_target(daemon_, 0));
    publishing = measure_open(daemon_target(daemon_, 1));
    measure_publish_metrics(publishing, step = 1);

    pulls((struct row){"pull of 20 metrics, TCP", "us", "a raw TCP request", .less_is_better = true,
                       .reach.value = 150},
          (struct row){"  its p99", "us", "a raw TCP request", .less_is_better = true}, tcp_client, raw_tcp);
    pulls((struct row){"pull of 20 metrics, Unix socket", "us", "a raw Unix request", .less_is_better = true,
                       .reach.value = 75},
          (struct row){"  its p99", "us", "a raw Unix request", .less_is_better = true}, publishing,
          raw_unix);
    wakes(tcp_client, raw_tcp);

    sw_client_close(tcp_client);
    sw_client_close(publishing);
    daemon_kill(daemon_);
    daemon_destroy(daemon_);
    baseline_close(raw_tcp);
    baseline_close(raw_unix);
    baseline_stop(&tcp_server);
    baseline_stop(&unix_server);
    return 0;
}
