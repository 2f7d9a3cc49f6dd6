/* What is beyond a limit is answered by its name, or closed where there is no call to answer; and whoever
 * stays below it doesn't notice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/baseline.h"
#include "tests/support/scene.h"
#include "tests/support/test.h"

static struct scene s;

static void teardown(void) {
    scene_close(&s);
}
TestSuite(limits, .fini = teardown, .timeout = 60);

static void expect_limit(const char *name) {
    expect_error(&s, RESOURCE_EXHAUSTED, LIMIT);
    expect_metadata(&s, "limit", name);
}

Test(limits, calls_of_one_caller) {
    scene_open(&s, "--max-calls", "2", NULL);
    struct raw_call *waits = scene_waiting_get(&s, AT("train", 1));
    struct raw_call *more = scene_start_get(&s, AT("train", 1), 20000);
    while (scene_get(&s, AT("train", 2), NULL) != SW_RESOURCE_EXHAUSTED)
        ; /* until the second waits, too */
    expect_limit("calls");
    expect_words(&s, "127.0.0.1", "2 calls", "--max-calls");
    raw_cancel(waits);
    raw_finish(waits, NULL);
    while (scene_publish(&s, AT("train", 1), 7) == SW_RESOURCE_EXHAUSTED)
        ; /* until the endpoint has seen that it is gone */
    expect_ok(&s);
    int64_t value;
    scene_finish_get(&s, more, &value);
    expect_ok(&s);
    cr_assert_eq(value, 7);
}

Test(limits, leases) {
    scene_open(&s, "--max-leases", "1", NULL);
    struct raw_call *lease = scene_attach(&s, 1, NULL, 0);
    cr_assert_null(scene_attach_stage(&s, 2, 1));
    expect_limit("leases");
    scene_detach(lease);
}

Test(limits, consumers_of_a_channel) {
    scene_open(&s, "--max-consumers", "1", NULL);
    const char *const two[] = {"c0", "c1"};
    sw_channel_policy policy = {
        .channel = "train", .kind = SW_METRICS, .consumers = two, .consumer_count = 2};
    cr_assert_null(scene_attach(&s, 1, &policy, 1));
    expect_limit("consumers");
    policy.consumer_count = 1;
    struct raw_call *lease = scene_attach(&s, 1, &policy, 1);
    cr_assert_not_null(lease, "%s", s.error.message);
    scene_detach(lease);
}

Test(limits, tensor_publishes_in_progress) {
    scene_open(&s, "--max-publishes", "1", NULL);
    struct raw_call *open = scene_open_tensor(&s, AT("a", 1), 1000);
    struct raw_call *more = scene_start_tensor(&s, AT("b", 1), 1000);
    raw_finish(more, &s.error);
    expect_limit("publishes");
    raw_cancel(open);
    raw_finish(open, NULL);
}

static struct raw_call *start_watch(void) {
    sw_buffer *request;
    const struct watch_request wish = {.run_id = "", .start = WATCH_NEW};
    cr_assert_eq(watch_request_encode(&wish, &request, &s.error), SW_OK);
    return raw_start(s.raw, RAW_STAGE("WatchLossMetrics"), request, true, 20000);
}

/* Its headers would say so. */
Test(limits, a_watch_too_many_never_stands) {
    scene_open(&s, "--max-watches", "1", NULL);
    struct raw_call *one = start_watch(), *more;
    cr_assert(raw_headers(one));
    more = start_watch();
    cr_assert(!raw_headers(more));
    raw_finish(more, &s.error);
    expect_limit("watches");
    raw_cancel(one);
    raw_finish(one, NULL);
}

static uint16_t port(void) {
    return (uint16_t)atoi(strrchr(daemon_target(s.daemon, 0), ':') + 1);
}

/* Which comes before the first ping, after 10 s, whose answer is missing at 20 s: that would end it, too. */
static void read_to_the_end(int connection) {
    const struct timeval patience = {.tv_sec = 8};
    char bytes[4096];
    ssize_t got;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while ((got = recv(connection, bytes, sizeof bytes, 0)) > 0) {
    }
    cr_assert(got == 0 || errno == ECONNRESET, "%s", strerror(errno));
    close(connection);
}

Test(limits, a_connection_that_says_nothing_is_closed) {
    scene_open(&s, "--handshake-timeout", "200ms", NULL);
    read_to_the_end(tcp_connect_loopback(port()));
    scene_publish(&s, AT("train", 1), 7);
    expect_ok(&s);
}

static void greet(int connection) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    cr_assert_eq(send(connection, preface, sizeof preface, 0), (ssize_t)sizeof preface);
}

Test(limits, a_connection_without_calls_is_closed) {
    scene_open(&s, "--max-connection-idle", "200ms", NULL);
    int idle = tcp_connect_loopback(port());
    greet(idle);
    read_to_the_end(idle);
    scene_publish(&s, AT("train", 1), 7);
    expect_ok(&s);
}
