/* A connection that has to be made anew is no loss: leases are taken up again, watches and streams go on, and
 * pulls that wait are answered. */
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { CONNECTIONS = 4, BIG = 24 << 20 };

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay, which counts its connections */
static unsigned first;

static void open_all(void) {
    static const char *const young[] = {
        "--max-connection-age", "500ms", "--connection-age-grace", "500ms", "--publisher-grace", "3s", NULL};
    bench_open(&b, young);
    relay = relay_open(daemon_target(b.daemon, 0));
    client = bench_client_of(&b, relay_target(relay), 20000);
    first = relay_connections(relay);
}

static void close_all(void) {
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
}

TestSuite(connection_age, .init = open_all, .fini = close_all, .timeout = 120);

static void grow_old(void) {
    cr_assert(relay_wait_for_connections(relay, first + CONNECTIONS, 30000), "the connection stays");
}

static bool is_old(void) {
    return relay_connections(relay) >= first + CONNECTIONS;
}

Test(connection_age, a_lease_is_taken_up_again_and_nothing_is_lost) {
    sw_lease *lease;
    sw_metrics *metrics;
    sw_call *call;
    sw_attachment attachment = {.stage = 3, .stage_count = 4};
    sw_pull waits = {.address = {.channel = "train", .step = 1}, .timeout_ms = 60000};
    sw_publisher *publisher = sw_client_publisher(client);
    bench_ok(&b, sw_attach(publisher, &attachment, 0, &lease, NULL, &b.error));
    bench_ok(&b, sw_client_start_metrics(b.client, &waits, &call, &b.error));
    grow_old();
    bench_ok(&b, bench_publish_by(client, "train", 1, 7, &b.error));
    bench_ok(&b, sw_call_finish_metrics(call, &metrics, &b.error));
    cr_assert_eq(sw_dict_get(sw_metrics_value(metrics), "v")->integer, 7);
    sw_metrics_destroy(metrics);
    sw_call_destroy(call);
    sw_lease_release(lease);
}

Test(connection_age, a_watch_goes_on_without_a_gap_and_without_repeating) {
    sw_watch *watch;
    sw_watch_event event;
    uint64_t step = 0;
    bench_ok(&b, sw_client_watch(client, NULL, 0, SW_WATCH_NEW, NULL, 0, 0, &watch, &b.error));
    while (!is_old()) {
        step++;
        bench_publish(&b, "train", step, (int64_t)step);
        bench_ok(&b, sw_watch_next(watch, 20000, &event, &b.error));
        cr_assert_eq(event.type, SW_EVENT_PUBLISHED, "%d", (int)event.type);
        cr_assert_eq(event.address.step, step, "step %lu came for %lu", (unsigned long)event.address.step,
                     (unsigned long)step);
    }
    sw_watch_close(watch);
}

Test(connection_age, a_stream_goes_on_and_ends_whole) {
    uint8_t *big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++) big[i] = (uint8_t)(i * 2654435761u >> 11);
    const int64_t shape[] = {BIG};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, big, BIG}};
    sw_address address = {.channel = "tensors", .step = 1};
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, &tensor, 1, 0, NULL, &b.error));
    while (!is_old()) {
        sw_tensors *tensors;
        sw_pull asked = {.address = address, .timeout_ms = 60000};
        bench_ok(&b, sw_client_get_tensors(client, &asked, NULL, 0, &tensors, &b.error));
        cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, big, BIG), 0);
        sw_tensors_destroy(tensors);
    }
    free(big);
}
