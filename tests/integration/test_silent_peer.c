/* Peers that fall silent without a word, as where a machine loses its power: the connection stands, and
 * nothing comes through it. And those that only have nothing to say, which stay. */
#include <string.h>
#include <time.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { NOTICED_MS = 40000, IDLE_MS = 25000, GRACE_MS = 1000 };

static struct bench b;
static struct relay *silent, *idle;
static sw_client *holder;  /* through `silent` */
static sw_client *watcher; /* through `idle` */
static sw_lease *lease;
static sw_watch *watch;
static int64_t begun_ms;

static int64_t elapsed_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000 - begun_ms;
}

static void attach_holder(void) {
    sw_attachment attachment = {.stage = 3, .stage_count = 4};
    silent = relay_open(daemon_target(b.daemon, 0));
    holder = bench_client_of(&b, relay_target(silent), GRACE_MS);
    bench_ok(&b, sw_attach(sw_client_publisher(holder), &attachment, 0, &lease, NULL, &b.error));
}

static void watch_aside(void) {
    const sw_watch_filter filter = {.channel = "aside"};
    idle = relay_open(daemon_target(b.daemon, 0));
    watcher = bench_client_of(&b, relay_target(idle), GRACE_MS);
    bench_ok(&b, sw_client_watch(watcher, &filter, 1, SW_WATCH_NEW, NULL, 0, 0, &watch, &b.error));
}

static void open_all(void) {
    static const char *const more[] = {"--publisher-grace", "1s", NULL};
    bench_open(&b, more);
    attach_holder();
    watch_aside();
    begun_ms += elapsed_ms();
}

static void close_all(void) {
    sw_watch_close(watch);
    sw_lease_release(lease);
    sw_client_close(watcher);
    sw_client_close(holder);
    relay_close(idle);
    relay_close(silent);
    bench_close(&b);
}

TestSuite(silent_peer, .init = open_all, .fini = close_all, .timeout = 120);

static sw_call *start_pull(sw_client *client) {
    sw_call *call;
    sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = NOTICED_MS};
    bench_ok(&b, sw_client_start_metrics(client, &pull, &call, &b.error));
    return call;
}

static sw_status finish_pull(sw_call *call) {
    sw_metrics *metrics;
    sw_status status = sw_call_finish_metrics(call, &metrics, &b.error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    sw_call_destroy(call);
    return status;
}

static sw_status end_of_the_lease(void) {
    sw_status status;
    do status = sw_lease_check(lease, &b.error);
    while (status == SW_OK && elapsed_ms() < NOTICED_MS);
    return status;
}

/* All that it was up to: pings went both ways meanwhile, and were taken. */
static void the_idle_watch_stands(void) {
    sw_watch_event event;
    if (elapsed_ms() < IDLE_MS)
        bench_fails(&b, sw_watch_next(watch, IDLE_MS - elapsed_ms(), &event, &b.error), SW_DEADLINE_EXCEEDED,
                    SW_REASON_NONE);
    bench_publish(&b, "aside", 1, 7);
    bench_ok(&b, sw_watch_next(watch, 20000, &event, &b.error));
    cr_assert_eq(event.type, SW_EVENT_PUBLISHED, "%d", (int)event.type);
    cr_assert_eq(relay_connections(idle), 1, "it was cut off and came again");
}

Test(silent_peer, is_noticed_on_both_ends_and_by_its_lease_and_the_idle_are_not_cut_off) {
    sw_call *beside = start_pull(b.client), *behind = start_pull(holder);
    bench_wait_for_waiting(&b, 2);
    relay_stall(silent, true);
    begun_ms += elapsed_ms();
    bench_fails(&b, finish_pull(behind), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    bench_fails(&b, end_of_the_lease(), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    bench_fails(&b, finish_pull(beside), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
    the_idle_watch_stands();
}
