/* A pull that comes share by share over a long link, and what endpoints and callers do meanwhile. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/relayed.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20, BIG = 16 * MIB + 17, DELAY_MS = 10, PULLERS = 4, MANY = 10000 };

static struct relayed r;

static void close_all(void) {
    relayed_close(&r);
}

TestSuite(shares, .fini = close_all, .timeout = 170);

static void open_at(const char *target) {
    relayed_open(&r, target, BIG);
    relayed_delay(&r, DELAY_MS);
    relayed_publish(&r, 1);
    relayed_pull_and_check(&r, 1);
}

/* A client that knows the link, and pulls over several connections from the start. */
static void open_long(const char *const *more) {
    bench_open(&r.bench, more);
    open_at(r.bench.socket);
}

/* ---- the endpoint meanwhile ---- */

Test(shares, an_endpoint_that_drains_still_brings_the_rest_of_a_pull) {
    open_long(NULL);
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 4);
    daemon_signal(r.bench.daemon, SIGTERM);
    relayed_finish_and_check(&r, call);
}

Test(shares, a_new_generation_does_not_end_a_pull_under_way) {
    sw_lease *lease;
    open_long(NULL);
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 4);
    sw_attachment attachment = {.generation = 9, .stage = 3, .stage_count = 4};
    bench_ok(&r.bench, sw_attach(r.bench.publisher, &attachment, 0, &lease, NULL, &r.bench.error));
    relayed_finish_and_check(&r, call);
    sw_lease_release(lease);
}

Test(shares, a_caller_who_may_make_one_call_at_a_time_pulls_whole) {
    static const char *const more[] = {"--max-calls", "1", NULL};
    open_long(more);
    relayed_pull_and_check(&r, 1);
}

Test(shares, two_pulls_of_a_caller_who_may_make_two_calls_at_once_come_whole) {
    static const char *const more[] = {"--max-calls", "2", NULL};
    open_long(more);
    while (relayed_streams(&r) > 0) continue;
    sw_call *first = relayed_start(&r, 1, 60000), *second = relayed_start(&r, 1, 60000);
    relayed_finish_and_check(&r, first);
    relayed_finish_and_check(&r, second);
}

Test(shares, an_address_that_may_have_no_further_connections_pulls_whole_over_one) {
    static const char *const more[] = {"--max-connections-address", "2", NULL};
    bench_open(&r.bench, more);
    open_at(daemon_target(r.bench.daemon, 0));
    relayed_pull_and_check(&r, 1);
    cr_assert_gt(relay_connections(r.relay), 1, "a further one was tried");
}

Test(shares, connections_that_grow_old_meanwhile_cost_nothing) {
    static const char *const more[] = {"--max-connection-age", "300ms", "--connection-age-grace", "200ms",
                                       NULL};
    open_long(more);
    for (int i = 0; i < 3; i++) relayed_pull_and_check(&r, 1);
}

/* ---- the caller meanwhile ---- */

Test(shares, a_pull_that_waited_for_its_item_brings_it_once) {
    open_long(NULL);
    sw_call *call = relayed_start(&r, 2, 60000);
    bench_wait_for_waiting(&r.bench, 1);
    for (int round_trips = 0; round_trips < 8; round_trips++) relayed_round_trip(&r);
    uint64_t before = relayed_arrived(&r);
    r.size = MIB / 2;
    relayed_publish(&r, 2);
    relayed_finish_and_check(&r, call);
    cr_assert_lt(relayed_arrived(&r) - before, MIB / 2 + MIB / 8, "%lu bytes came",
                 (unsigned long)(relayed_arrived(&r) - before));
}

Test(shares, what_is_wished_for_comes_where_it_is_wished_and_nothing_else_comes) {
    enum { HALF = BIG / 2 };
    open_long(NULL);
    const int64_t half[] = {HALF}, none[] = {0};
    const sw_named_tensor tensors[] = {
        {.name = "other", .view = {SW_U8, 1, half, r.big, HALF}},
        {.name = "empty", .view = {SW_U8, 1, none, NULL, 0}},
        {.name = "wished", .view = {SW_U8, 1, half, r.big + HALF, HALF}},
    };
    sw_address address = {.channel = "tensors", .step = 2};
    bench_ok(&r.bench, sw_publish_tensors(r.bench.publisher, &address, tensors, 3, 0, NULL, &r.bench.error));
    uint8_t *into = malloc(HALF);
    const sw_tensor_request wishes[] = {{"wished", into, HALF}, {"empty", NULL, 0}};
    sw_pull latest = {.address = {.channel = "tensors"}, .latest = true, .timeout_ms = 60000};
    sw_tensors *came;
    uint64_t before = relayed_arrived(&r);
    bench_ok(&r.bench, sw_client_get_tensors(r.client, &latest, wishes, 2, &came, &r.bench.error));
    cr_assert_lt(relayed_arrived(&r) - before, 2 * HALF);
    cr_assert_eq(sw_tensors_view(came, 0)->data, into);
    cr_assert_eq(memcmp(into, r.big + HALF, HALF), 0);
    cr_assert_eq(sw_tensors_view(came, 1)->size, 0);
    sw_tensors_destroy(came);
    free(into);
}

Test(shares, several_pulls_at_once_come_whole_over_the_same_connections) {
    open_long(NULL);
    sw_call *calls[PULLERS];
    for (int i = 0; i < PULLERS; i++) calls[i] = relayed_start(&r, 1, 60000);
    for (int i = 0; i < PULLERS; i++) relayed_finish_and_check(&r, calls[i]);
}

Test(shares, a_call_may_be_destroyed_and_a_client_closed_at_any_moment) {
    open_long(NULL);
    for (uint64_t part = 0; part < 6; part++) {
        sw_call *call = relayed_start_and_wait_for(&r, 1, part * BIG / 6);
        if (part % 2) {
            sw_call_destroy(call);
            continue;
        }
        sw_client_close(r.client);
        sw_call_destroy(call);
        r.client = bench_client_of(&r.bench, relay_target(r.relay), 30000);
        relayed_pull_and_check(&r, 1);
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
        tensors[i] = (sw_named_tensor){.name = names[i], .view = {SW_U8, 1, shape, r.big + i, EACH}};
    }
    sw_address address = {.channel = "tensors", .step = 2};
    bench_ok(&r.bench,
             sw_publish_tensors(r.bench.publisher, &address, tensors, MANY, 0, NULL, &r.bench.error));
    uint64_t before = relayed_arrived(&r);
    sw_tensors *came;
    sw_call *call = relayed_start(&r, 2, 60000);
    bench_ok(&r.bench, sw_call_finish_tensors(call, &came, &r.bench.error));
    cr_assert_eq(sw_tensors_count(came), MANY);
    cr_assert_lt(relayed_arrived(&r) - before, MANY * EACH * 5 / 4, "%lu bytes came",
                 (unsigned long)(relayed_arrived(&r) - before));
    sw_tensors_destroy(came);
    sw_call_destroy(call);
    free(tensors);
    free(names);
}
