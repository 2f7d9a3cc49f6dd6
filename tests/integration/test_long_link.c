/* Tensors over a link on which an answer takes its time, so that one connection does not fill it. */
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "proto/base/clock.h"
#include "tests/support/relayed.h"
#include "tests/support/test.h"

enum { BIG = (24 << 20) + 17, DELAY_MS = 10, CONNECTIONS_MAX = 8, KEEPALIVE_MS = 20000 };

static struct relayed r;

static void open_all(void) {
    bench_open(&r.bench, NULL);
    relayed_open(&r, r.bench.socket, BIG);
}

static void close_all(void) {
    relayed_close(&r);
}

TestSuite(long_link, .init = open_all, .fini = close_all, .timeout = 170);

static void make_it_long(void) {
    relayed_delay(&r, DELAY_MS);
}

/* So that this client knows the link, and pulls over several connections from the start. */
static void learn(void) {
    make_it_long();
    relayed_publish(&r, 1);
    relayed_pull_and_check(&r, 1);
    cr_assert_geq(relay_connections(r.relay), 2);
}

/* ---- how many ---- */

Test(long_link, a_pull_over_a_short_link_stays_with_one_connection) {
    relayed_publish(&r, 1);
    for (int i = 0; i < 20; i++) relayed_round_trip(&r);
    for (int i = 0; i < 4; i++) relayed_pull_and_check(&r, 1);
    cr_assert_eq(relay_connections(r.relay), 1);
}

Test(long_link, further_connections_are_opened_while_they_raise_the_rate_and_no_more_than_eight) {
    make_it_long();
    relayed_publish(&r, 1);
    for (int i = 0; i < 8 && relay_connections(r.relay) < CONNECTIONS_MAX; i++) relayed_pull_and_check(&r, 1);
    unsigned connections = relay_connections(r.relay);
    cr_assert_geq(connections, 4);
    cr_assert_leq(connections, CONNECTIONS_MAX);
}

Test(long_link, small_tensors_come_over_one_connection) {
    const int64_t shape[] = {RELAYED_SMALL};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, r.big, RELAYED_SMALL}};
    sw_address address = {.channel = "tensors", .step = 1};
    sw_tensors *tensors;
    bench_ok(&r.bench, sw_publish_tensors(r.bench.publisher, &address, &tensor, 1, 0, NULL, &r.bench.error));
    make_it_long();
    for (int i = 0; i < 3; i++) {
        bench_ok(&r.bench, relayed_finish(&r, relayed_start(&r, 1, 60000), &tensors));
        sw_tensors_destroy(tensors);
    }
    cr_assert_eq(relay_connections(r.relay), 1);
}

Test(long_link, a_client_opens_no_more_connections_than_it_was_told) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.connections = 1;
    sw_client_close(r.client);
    bench_ok(&r.bench, sw_client_open(relay_target(r.relay), &options, &r.client, &r.bench.error));
    make_it_long();
    relayed_publish(&r, 1);
    for (int i = 0; i < 2; i++) relayed_pull_and_check(&r, 1);
    cr_assert_eq(relay_connections(r.relay), 1);
}

/* ---- what is lost on the way ---- */

Test(long_link, a_lost_connection_gives_its_blocks_back_to_the_others) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = relayed_start_and_wait_for(&r, 1, part * BIG / 5);
        relay_refuse(r.relay, true);
        unsigned connections = relay_connections(r.relay);
        relay_cut_after(r.relay, RELAY_TO_CLIENT, 1);
        relayed_finish_and_check(&r, call);
        cr_assert_eq(relay_connections(r.relay), connections, "those that were left brought all");
        relay_refuse(r.relay, false);
        relayed_pull_and_check(&r, 1);
    }
}

Test(long_link, connections_that_never_come_about_cost_nothing) {
    sw_tensors *tensors;
    make_it_long();
    relayed_publish(&r, 1);
    relayed_round_trip(&r);
    relay_ignore(r.relay, true);
    int64_t begun_ms = clock_now_ms(&clock_system);
    for (int i = 0; i < 2; i++) relayed_pull_and_check(&r, 1);
    cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, KEEPALIVE_MS / 4 * 3);
    cr_assert_eq(relay_connections(r.relay), 1);
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 4);
    sw_call_cancel(call);
    bench_fails(&r.bench, relayed_finish(&r, call, &tensors), SW_CANCELLED, SW_REASON_NONE);
    relay_ignore(r.relay, false);
    for (int i = 0; i < 8 && relay_connections(r.relay) == 1; i++) relayed_pull_and_check(&r, 1);
    cr_assert_gt(relay_connections(r.relay), 1, "once they answer, they are used");
}

Test(long_link, what_a_connection_that_stalls_still_has_to_bring_comes_over_the_others) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = relayed_start_and_wait_for(&r, 1, part * BIG / 5);
        int64_t begun_ms = clock_now_ms(&clock_system);
        relay_stall_after(r.relay, RELAY_TO_CLIENT, 1);
        relayed_finish_and_check(&r, call);
        cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, KEEPALIVE_MS / 4 * 3);
        relay_heal(r.relay);
        make_it_long();
    }
}

/* On a machine that is busy some are slower, so it is the best of several that counts. */
Test(long_link, blocks_come_once_where_no_connection_is_slower_than_the_others) {
    uint64_t least = UINT64_MAX;
    learn();
    for (int i = 0; i < 8 && relay_connections(r.relay) < CONNECTIONS_MAX; i++) relayed_pull_and_check(&r, 1);
    for (int i = 0; i < 30 && least >= BIG / 16 * 17; i++) {
        uint64_t before = relayed_arrived(&r);
        relayed_pull_and_check(&r, 1);
        uint64_t came = relayed_arrived(&r) - before;
        if (came < least) least = came;
    }
    cr_assert_lt(least, BIG / 16 * 17);
}

Test(long_link, a_pull_that_loses_all_its_connections_goes_on_over_new_ones) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = relayed_start_and_wait_for(&r, 1, part * BIG / 5);
        relay_cut(r.relay);
        relayed_finish_and_check(&r, call);
    }
}

Test(long_link, an_item_that_goes_meanwhile_comes_whole_over_all_connections) {
    learn();
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 4);
    relayed_publish(&r, 2);
    relayed_finish_and_check(&r, call);
    relayed_pull_and_check(&r, 2);
}

Test(long_link, an_endpoint_that_comes_again_with_other_tensors_mixes_nothing) {
    learn();
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 2);
    relay_refuse(r.relay, true);
    bench_down(&r.bench);
    bench_up(&r.bench);
    for (size_t i = 0; i < BIG; i++) r.big[i] ^= 0x55;
    sw_client *next = bench_client_of(&r.bench, r.bench.socket, 30000);
    bench_ok(&r.bench, relayed_publish_by(&r, sw_client_publisher(next), 1, NULL));
    sw_client_close(next);
    relay_refuse(r.relay, false);
    relayed_finish_and_check(&r, call);
}

Test(long_link, a_bit_turned_on_any_connection_is_data_loss) {
    sw_tensors *tensors = NULL;
    memset(r.big, 0xa5, BIG);
    learn();
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 2);
    relay_turn_bit(r.relay, RELAY_TO_CLIENT, 0xa5, 5000);
    bench_fails(&r.bench, relayed_finish(&r, call, &tensors), SW_DATA_LOSS, SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(r.relay));
    cr_assert_null(tensors);
    relayed_pull_and_check(&r, 1);
}

/* ---- what ends it ---- */

Test(long_link, a_cancelled_pull_ends_on_all_its_connections) {
    sw_tensors *tensors;
    learn();
    sw_call *call = relayed_start_and_wait_for(&r, 1, BIG / 4);
    cr_assert_gt(relayed_streams(&r), 1);
    relay_stall(r.relay, true);
    int64_t begun_ms = clock_now_ms(&clock_system);
    sw_call_cancel(call);
    bench_fails(&r.bench, relayed_finish(&r, call, &tensors), SW_CANCELLED, SW_REASON_NONE);
    cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, KEEPALIVE_MS / 2,
                 "nobody waits for what is stalled");
    relay_stall(r.relay, false);
    while (relayed_streams(&r) > 0) continue;
    relayed_pull_and_check(&r, 1);
}

Test(long_link, a_pull_that_is_not_through_at_its_deadline_says_so) {
    sw_tensors *tensors;
    learn();
    uint64_t before = relayed_arrived(&r);
    sw_call *call = relayed_start(&r, 1, 1000);
    cr_assert(relay_wait_for_bytes(r.relay, RELAY_TO_CLIENT, before + BIG / 4, 60000));
    relay_stall(r.relay, true);
    bench_fails(&r.bench, relayed_finish(&r, call, &tensors), SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
    cr_assert_not_null(strstr(r.bench.error.message, "did not send all within"), "%s", r.bench.error.message);
}
