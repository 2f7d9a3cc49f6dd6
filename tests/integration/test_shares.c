/* A pull that comes share by share over a long link, and what endpoints and callers do meanwhile. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20, BIG = 16 * MIB + 17, DELAY_MS = 10, PULLERS = 4, MANY = 10000 };

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay */
static uint8_t *big;

static void open_all(void) {
    big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++) big[i] = (uint8_t)(i * 2654435761u >> 11);
}

static void close_all(void) {
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
    free(big);
}

TestSuite(shares, .init = open_all, .fini = close_all, .timeout = 170);

static void publish(uint64_t step, size_t size) {
    const int64_t shape[] = {(int64_t)size};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, big, size}};
    sw_address address = {.channel = "tensors", .step = step};
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, &tensor, 1, 0, NULL, &b.error));
}

static sw_call *start_by(sw_client *by, uint64_t step) {
    sw_call *call;
    sw_pull asked = {.address = {.channel = "tensors", .step = step}, .timeout_ms = 60000};
    bench_ok(&b, sw_client_start_tensors(by, &asked, NULL, 0, &call, &b.error));
    return call;
}

static sw_call *start(uint64_t step) {
    return start_by(client, step);
}

static void finish_and_check(sw_call *call, size_t size) {
    sw_tensors *tensors;
    bench_ok(&b, sw_call_finish_tensors(call, &tensors, &b.error));
    cr_assert_eq(sw_tensors_view(tensors, 0)->size, size);
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, big, size), 0);
    sw_tensors_destroy(tensors);
    sw_call_destroy(call);
}

static uint64_t arrived(void) {
    return relay_bytes(relay, RELAY_TO_CLIENT);
}

static sw_call *start_and_wait_for(uint64_t step, uint64_t bytes) {
    uint64_t before = arrived();
    sw_call *call = start(step);
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, before + bytes, 60000));
    return call;
}

static void open_at(const char *target) {
    relay = relay_open(target);
    relay_delay(relay, RELAY_TO_CLIENT, DELAY_MS);
    relay_delay(relay, RELAY_TO_ENDPOINT, DELAY_MS);
    client = bench_client_of(&b, relay_target(relay), 30000);
    publish(1, BIG);
    finish_and_check(start(1), BIG);
}

/* A client that knows the link, and pulls over several connections from the start. */
static void open_long(const char *const *more) {
    bench_open(&b, more);
    open_at(b.socket);
}

static void wait_for_the_endpoint_to_have_ended_all(void) {
    for (uint64_t streams = 1; streams > 0;) {
        sw_info *info;
        bench_ok(&b, sw_client_info(b.client, 0, &info, &b.error));
        streams = info->streams;
        sw_info_destroy(info);
    }
}

/* ---- the endpoint meanwhile ---- */

Test(shares, an_endpoint_that_drains_still_brings_the_rest_of_a_pull) {
    open_long(NULL);
    sw_call *call = start_and_wait_for(1, BIG / 4);
    daemon_signal(b.daemon, SIGTERM);
    finish_and_check(call, BIG);
}

Test(shares, a_new_generation_does_not_end_a_pull_under_way) {
    sw_lease *lease;
    open_long(NULL);
    sw_call *call = start_and_wait_for(1, BIG / 4);
    sw_attachment attachment = {.generation = 9, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(b.publisher, &attachment, 0, &lease, NULL, &b.error));
    finish_and_check(call, BIG);
    sw_lease_release(lease);
}

Test(shares, a_caller_who_may_make_one_call_at_a_time_pulls_whole) {
    static const char *const more[] = {"--max-calls", "1", NULL};
    open_long(more);
    finish_and_check(start(1), BIG);
}

Test(shares, two_pulls_of_a_caller_who_may_make_two_calls_at_once_come_whole) {
    static const char *const more[] = {"--max-calls", "2", NULL};
    open_long(more);
    wait_for_the_endpoint_to_have_ended_all();
    sw_call *first = start(1), *second = start(1);
    finish_and_check(first, BIG);
    finish_and_check(second, BIG);
}

Test(shares, an_address_that_may_have_no_further_connections_pulls_whole_over_one) {
    static const char *const more[] = {"--max-connections-address", "2", NULL};
    bench_open(&b, more);
    open_at(daemon_target(b.daemon, 0));
    finish_and_check(start(1), BIG);
    cr_assert_gt(relay_connections(relay), 1, "a further one was tried");
}

Test(shares, connections_that_grow_old_meanwhile_cost_nothing) {
    static const char *const more[] = {"--max-connection-age", "300ms", "--connection-age-grace", "200ms",
                                       NULL};
    open_long(more);
    for (int i = 0; i < 3; i++) finish_and_check(start(1), BIG);
}

/* ---- the caller meanwhile ---- */

Test(shares, a_pull_that_waited_for_its_item_brings_it_once) {
    open_long(NULL);
    sw_call *call = start(2);
    bench_wait_for_waiting(&b, 1);
    for (int round_trips = 0; round_trips < 8; round_trips++) {
        sw_info *info;
        bench_ok(&b, sw_client_info(client, 0, &info, &b.error));
        sw_info_destroy(info);
    }
    uint64_t before = arrived();
    publish(2, MIB / 2);
    finish_and_check(call, MIB / 2);
    cr_assert_lt(arrived() - before, MIB / 2 + MIB / 8, "%lu bytes came",
                 (unsigned long)(arrived() - before));
}

Test(shares, what_is_wished_for_comes_where_it_is_wished_and_nothing_else_comes) {
    enum { HALF = BIG / 2 };
    open_long(NULL);
    const int64_t half[] = {HALF}, none[] = {0};
    const sw_named_tensor tensors[] = {
        {.name = "other", .view = {SW_U8, 1, half, big, HALF}},
        {.name = "empty", .view = {SW_U8, 1, none, NULL, 0}},
        {.name = "wished", .view = {SW_U8, 1, half, big + HALF, HALF}},
    };
    sw_address address = {.channel = "tensors", .step = 2};
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, tensors, 3, 0, NULL, &b.error));
    uint8_t *into = malloc(HALF);
    const sw_tensor_request wishes[] = {{"wished", into, HALF}, {"empty", NULL, 0}};
    sw_pull latest = {.address = {.channel = "tensors"}, .latest = true, .timeout_ms = 60000};
    sw_tensors *came;
    uint64_t before = arrived();
    bench_ok(&b, sw_client_get_tensors(client, &latest, wishes, 2, &came, &b.error));
    cr_assert_lt(arrived() - before, 2 * HALF);
    cr_assert_eq(sw_tensors_view(came, 0)->data, into);
    cr_assert_eq(memcmp(into, big + HALF, HALF), 0);
    cr_assert_eq(sw_tensors_view(came, 1)->size, 0);
    sw_tensors_destroy(came);
    free(into);
}

Test(shares, several_pulls_at_once_come_whole_over_the_same_connections) {
    open_long(NULL);
    sw_call *calls[PULLERS];
    for (int i = 0; i < PULLERS; i++) calls[i] = start(1);
    for (int i = 0; i < PULLERS; i++) finish_and_check(calls[i], BIG);
}

Test(shares, a_call_may_be_destroyed_and_a_client_closed_at_any_moment) {
    open_long(NULL);
    for (uint64_t part = 0; part < 6; part++) {
        sw_call *call = start_and_wait_for(1, part * BIG / 6);
        if (part % 2) {
            sw_call_destroy(call);
            continue;
        }
        sw_client_close(client);
        sw_call_destroy(call);
        client = bench_client_of(&b, relay_target(relay), 30000);
        finish_and_check(start(1), BIG);
    }
}

Test(shares, many_small_tensors_come_with_few_manifests) {
    enum { EACH = 1024 };
    open_long(NULL);
    const int64_t shape[] = {EACH};
    sw_named_tensor *tensors = calloc(MANY, sizeof *tensors);
    char(*names)[32] = calloc(MANY, sizeof *names);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "layers.%zu.weight", i);
        tensors[i] = (sw_named_tensor){.name = names[i], .view = {SW_U8, 1, shape, big + i, EACH}};
    }
    sw_address address = {.channel = "tensors", .step = 2};
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, tensors, MANY, 0, NULL, &b.error));
    uint64_t before = arrived();
    sw_tensors *came;
    sw_call *call = start(2);
    bench_ok(&b, sw_call_finish_tensors(call, &came, &b.error));
    cr_assert_eq(sw_tensors_count(came), MANY);
    cr_assert_lt(arrived() - before, MANY * EACH * 5 / 4, "%lu bytes came",
                 (unsigned long)(arrived() - before));
    sw_tensors_destroy(came);
    sw_call_destroy(call);
    free(tensors);
    free(names);
}
