/* A caller who waits for the only thing that is under way does the loop's work itself: no thread wakes
 * another for it, and nobody else has to wait for that. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/transport/driver.h"
#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

#define PULLS 300

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay */

static void open_all(void) {
    bench_open(&b, NULL);
    relay = relay_open(b.socket);
    client = bench_client_of(&b, relay_target(relay), 20000);
    bench_publish(&b, "train", 1, 1);
}

static void close_all(void) {
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
}

TestSuite(waiting_alone, .init = open_all, .fini = close_all, .timeout = 60);

static void pull(sw_client *from) {
    const sw_pull wish = {.address = {.channel = "train", .step = 1}};
    sw_metrics *metrics;
    bench_ok(&b, sw_client_get_metrics(from, &wish, &metrics, &b.error));
    sw_metrics_destroy(metrics);
}

static int64_t now_ms(void) {
    return clock_now_ms(&clock_system);
}

/* ---- nobody is woken ---- */

/* How often a thread of this process with that name has waited. */
static long waits_of(const char *thread, const char *name) {
    char path[300], line[200];
    long waits = 0;
    bool is_it = false;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "Name:\t", 6) == 0) is_it = strncmp(line + 6, name, strlen(name)) == 0;
        sscanf(line, "voluntary_ctxt_switches: %ld", &waits);
    }
    if (status) fclose(status);
    return is_it ? waits : 0;
}

static long loops_waits(void) {
    long waits = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));)
        if (task->d_name[0] != '.') waits += waits_of(task->d_name, "stagewire-loop");
    closedir(tasks);
    return waits;
}

Test(waiting_alone, pulls_one_after_the_other_wake_no_thread_of_the_client) {
    pull(b.client);
    while (loops_waits() == 0) usleep(1000); /* it has begun */
    long before = loops_waits();
    for (int i = 0; i < PULLS; i++) pull(b.client);
    cr_assert_lt(loops_waits() - before, PULLS / 10, "%ld waits for %d pulls", loops_waits() - before, PULLS);
}

/* ---- and nobody else waits ---- */

static sw_call *start(sw_client *from, uint64_t step) {
    const sw_pull wish = {.address = {.channel = "train", .step = step}, .timeout_ms = 20000};
    sw_call *call;
    bench_ok(&b, sw_client_start_metrics(from, &wish, &call, &b.error));
    return call;
}

static void comes_within(sw_call *call, int64_t timeout_ms) {
    struct pollfd wait = {.fd = sw_call_fd(call), .events = POLLIN};
    cr_assert_eq(poll(&wait, 1, (int)timeout_ms), 1);
    sw_call_destroy(call);
}

Test(waiting_alone, what_is_started_while_the_thread_rests_is_answered_at_once) {
    for (int i = 0; i < 20; i++) {
        pull(b.client);
        comes_within(start(b.client, 1), DRIVER_LOOK_EVERY_MS / 2);
    }
}

static void *wait_for_step_9(void *status) {
    const sw_pull wish = {.address = {.channel = "train", .step = 9}, .timeout_ms = 20000};
    sw_metrics *metrics;
    sw_error error;
    *(sw_status *)status = sw_client_get_metrics(client, &wish, &metrics, &error);
    if (*(sw_status *)status == SW_OK) sw_metrics_destroy(metrics);
    return NULL;
}

/* Another caller, who drives from now on. */
static pthread_t start_waiter(sw_status *ret_status) {
    pthread_t waiter;
    pull(client);
    pthread_create(&waiter, NULL, wait_for_step_9, ret_status);
    bench_wait_for_waiting(&b, 1);
    return waiter;
}

Test(waiting_alone, what_others_wait_for_comes_while_a_caller_drives_and_when_it_has_left) {
    sw_status status;
    pthread_t waiter = start_waiter(&status);
    for (int i = 0; i < 20; i++) comes_within(start(client, 1), DRIVER_LOOK_EVERY_MS / 2);
    sw_call *other = start(client, 10);
    bench_wait_for_waiting(&b, 2);
    bench_publish(&b, "train", 9, 9);
    pthread_join(waiter, NULL);
    cr_assert_eq(status, SW_OK, "%s", sw_status_name(status));
    bench_publish(&b, "train", 10, 10);
    comes_within(other, DRIVER_LOOK_EVERY_MS / 2);
}

/* ---- an end meanwhile ---- */

Test(waiting_alone, a_client_that_is_closed_lets_the_caller_go_that_drives) {
    for (int i = 0; i < 20; i++) {
        sw_status status;
        pthread_t waiter = start_waiter(&status);
        sw_client_close(client);
        pthread_join(waiter, NULL);
        cr_assert_eq(status, SW_CANCELLED, "%s", sw_status_name(status));
        client = bench_client_of(&b, relay_target(relay), 20000);
    }
}

/* A call over a connection that went meanwhile would fail and be made again, after a while. */
Test(waiting_alone, a_connection_that_went_while_nobody_drove_is_noticed_before_the_next_call) {
    int64_t best_ms = INT64_MAX;
    for (int i = 0; i < 10; i++) {
        pull(client);
        relay_cut(relay);
        usleep(20000);
        int64_t begun_ms = now_ms();
        pull(client);
        if (now_ms() - begun_ms < best_ms) best_ms = now_ms() - begun_ms;
    }
    cr_assert_lt(best_ms, 25, "%ld ms", (long)best_ms);
}
