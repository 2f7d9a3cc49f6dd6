/* How long small things take: a pull of held metrics, and from a publish to those who wait for it, against a
 * plain request of as many bytes over the same kind of socket.
 *
 *     bench_calls [ROUNDS]
 */
#include "tests/support/measure.h"
#include "tests/support/sides.h"

#define CALLS   2000
#define WAKES   300
#define WAITERS 64
#define ANSWER  1024 /* bytes: what 20 metrics take */

static struct sides sides;
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
        bench_must(sw_client_info(sides.ours.local, 0, &info, &error), &error);
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
    measure_publish_metrics(sides.ours.local, step);
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
    sides_open(&sides, ANSWER, NULL);
    measure_publish_metrics(sides.ours.local, step = 1);

    pulls((struct row){"pull of 20 metrics, TCP", "us", "a raw TCP request", .less_is_better = true,
                       .reach.value = 150},
          (struct row){"  its p99", "us", "a raw TCP request", .less_is_better = true}, sides.ours.tcp,
          sides.tcp);
    pulls((struct row){"pull of 20 metrics, Unix socket", "us", "a raw Unix request", .less_is_better = true,
                       .reach.value = 75},
          (struct row){"  its p99", "us", "a raw Unix request", .less_is_better = true}, sides.ours.local,
          sides.local);
    wakes(sides.ours.tcp, sides.tcp);

    sides_close(&sides);
    return 0;
}
