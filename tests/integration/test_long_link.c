/* Tensors over a link on which an answer takes its time, so that one connection does not fill it. */
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "proto/base/clock.h"
#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum {
    MIB = 1 << 20,
    BIG = 24 * MIB + 17,
    SMALL = 1000,
    DELAY_MS = 10,
    CONNECTIONS_MAX = 8,
    KEEPALIVE_MS = 20000
};

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay */
static uint8_t *big;

static void open_all(void) {
    bench_open(&b, NULL);
    relay = relay_open(b.socket);
    client = bench_client_of(&b, relay_target(relay), 30000);
    big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++) big[i] = (uint8_t)(i * 2654435761u >> 11);
}

static void close_all(void) {
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
    free(big);
}

TestSuite(long_link, .init = open_all, .fini = close_all, .timeout = 170);

/* The relay holds a quarter of a MiB a connection: so each connection brings some 12 MB/s, and more bring
 * more.
 */
static void make_it_long(void) {
    relay_delay(relay, RELAY_TO_CLIENT, DELAY_MS);
    relay_delay(relay, RELAY_TO_ENDPOINT, DELAY_MS);
}

static void publish_by(sw_publisher *publisher, uint64_t step) {
    const int64_t big_shape[] = {BIG}, small_shape[] = {SMALL};
    const sw_named_tensor tensors[] = {
        {.name = "small", .view = {SW_U8, 1, small_shape, big, SMALL}},
        {.name = "big", .view = {SW_U8, 1, big_shape, big, BIG}},
        {.name = "last", .view = {SW_U8, 1, small_shape, big + 5, SMALL}},
    };
    sw_address address = {.channel = "tensors", .step = step};
    bench_ok(&b, sw_publish_tensors(publisher, &address, tensors, 3, 0, NULL, &b.error));
}

static void publish(uint64_t step) {
    publish_by(b.publisher, step);
}

static sw_call *start(uint64_t step, int64_t timeout_ms) {
    sw_call *call;
    sw_pull asked = {.address = {.channel = "tensors", .step = step}, .timeout_ms = timeout_ms};
    bench_ok(&b, sw_client_start_tensors(client, &asked, NULL, 0, &call, &b.error));
    return call;
}

static sw_status finish(sw_call *call, sw_tensors **ret_tensors) {
    sw_status status = sw_call_finish_tensors(call, ret_tensors, &b.error);
    sw_call_destroy(call);
    return status;
}

static void check(sw_tensors *tensors) {
    cr_assert_eq(sw_tensors_count(tensors), 3);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, big, BIG), 0);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "small")->data, big, SMALL), 0);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "last")->data, big + 5, SMALL), 0);
    sw_tensors_destroy(tensors);
}

static void finish_and_check(sw_call *call) {
    sw_tensors *tensors;
    bench_ok(&b, finish(call, &tensors));
    check(tensors);
}

static void pull_and_check(uint64_t step) {
    finish_and_check(start(step, 60000));
}

/* So that this client knows the link, and pulls over several connections from the start. */
static void learn(void) {
    make_it_long();
    publish(1);
    pull_and_check(1);
    cr_assert_geq(relay_connections(relay), 2);
}

static void wait_for(uint64_t bytes) {
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, bytes, 60000));
}

static sw_call *start_and_wait_for(uint64_t step, uint64_t bytes) {
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    sw_call *call = start(step, 600000);
    wait_for(before + bytes);
    return call;
}

/* ---- how many ---- */

Test(long_link, a_pull_over_a_short_link_stays_with_one_connection) {
    publish(1);
    for (int i = 0; i < 20; i++) {
        sw_info *info;
        bench_ok(&b, sw_client_info(client, 0, &info, &b.error));
        sw_info_destroy(info);
    }
    for (int i = 0; i < 4; i++) pull_and_check(1);
    cr_assert_eq(relay_connections(relay), 1);
}

Test(long_link, further_connections_are_opened_while_they_raise_the_rate_and_no_more_than_eight) {
    make_it_long();
    publish(1);
    for (int i = 0; i < 8 && relay_connections(relay) < CONNECTIONS_MAX; i++) pull_and_check(1);
    unsigned connections = relay_connections(relay);
    cr_assert_geq(connections, 4);
    cr_assert_leq(connections, CONNECTIONS_MAX);
}

Test(long_link, small_tensors_come_over_one_connection) {
    const int64_t shape[] = {SMALL};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, big, SMALL}};
    sw_address address = {.channel = "tensors", .step = 1};
    sw_tensors *tensors;
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, &tensor, 1, 0, NULL, &b.error));
    make_it_long();
    for (int i = 0; i < 3; i++) {
        bench_ok(&b, finish(start(1, 60000), &tensors));
        sw_tensors_destroy(tensors);
    }
    cr_assert_eq(relay_connections(relay), 1);
}

Test(long_link, a_client_opens_no_more_connections_than_it_was_told) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.connections = 1;
    sw_client_close(client);
    bench_ok(&b, sw_client_open(relay_target(relay), &options, &client, &b.error));
    make_it_long();
    publish(1);
    for (int i = 0; i < 2; i++) pull_and_check(1);
    cr_assert_eq(relay_connections(relay), 1);
}

/* ---- what is lost on the way ---- */

Test(long_link, a_lost_connection_gives_its_blocks_back_to_the_others) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = start_and_wait_for(1, part * BIG / 5);
        relay_refuse(relay, true);
        unsigned connections = relay_connections(relay);
        relay_cut_after(relay, RELAY_TO_CLIENT, 1);
        finish_and_check(call);
        cr_assert_eq(relay_connections(relay), connections, "those that were left brought all");
        relay_refuse(relay, false);
        pull_and_check(1);
    }
}

Test(long_link, what_a_connection_that_stalls_still_has_to_bring_comes_over_the_others) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = start_and_wait_for(1, part * BIG / 5);
        int64_t begun_ms = clock_now_ms(&clock_system);
        relay_stall_after(relay, RELAY_TO_CLIENT, 1);
        finish_and_check(call);
        cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, KEEPALIVE_MS / 4 * 3);
        relay_heal(relay);
        make_it_long();
    }
}

/* On a machine that is busy some are slower, so it is the best of several that counts. */
Test(long_link, blocks_come_once_where_no_connection_is_slower_than_the_others) {
    uint64_t least = UINT64_MAX;
    learn();
    for (int i = 0; i < 8 && relay_connections(relay) < CONNECTIONS_MAX; i++) pull_and_check(1);
    for (int i = 0; i < 4; i++) {
        uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
        pull_and_check(1);
        uint64_t came = relay_bytes(relay, RELAY_TO_CLIENT) - before;
        if (came < least) least = came;
    }
    cr_assert_lt(least, BIG / 16 * 17);
}

Test(long_link, a_pull_that_loses_all_its_connections_goes_on_over_new_ones) {
    learn();
    for (uint64_t part = 1; part < 4; part++) {
        sw_call *call = start_and_wait_for(1, part * BIG / 5);
        relay_cut(relay);
        finish_and_check(call);
    }
}

Test(long_link, an_item_that_goes_meanwhile_comes_whole_over_all_connections) {
    learn();
    sw_call *call = start_and_wait_for(1, BIG / 4);
    publish(2);
    finish_and_check(call);
    pull_and_check(2);
}

Test(long_link, an_endpoint_that_comes_again_with_other_tensors_mixes_nothing) {
    learn();
    sw_call *call = start_and_wait_for(1, BIG / 2);
    relay_refuse(relay, true);
    bench_down(&b);
    bench_up(&b);
    for (size_t i = 0; i < BIG; i++) big[i] ^= 0x55;
    sw_client *next = bench_client_of(&b, b.socket, 30000);
    publish_by(sw_client_publisher(next), 1);
    sw_client_close(next);
    relay_refuse(relay, false);
    finish_and_check(call);
}

Test(long_link, a_bit_turned_on_any_connection_is_data_loss) {
    sw_tensors *tensors = NULL;
    memset(big, 0xa5, BIG);
    learn();
    sw_call *call = start_and_wait_for(1, BIG / 2);
    relay_turn_bit(relay, RELAY_TO_CLIENT, 0xa5, 5000);
    bench_fails(&b, finish(call, &tensors), SW_DATA_LOSS, SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(relay));
    cr_assert_null(tensors);
    pull_and_check(1);
}

/* ---- what ends it ---- */

static uint64_t open_streams(void) {
    sw_info *info;
    bench_ok(&b, sw_client_info(b.client, 0, &info, &b.error));
    uint64_t streams = info->streams;
    sw_info_destroy(info);
    return streams;
}

Test(long_link, a_cancelled_pull_ends_on_all_its_connections) {
    sw_tensors *tensors;
    learn();
    sw_call *call = start_and_wait_for(1, BIG / 4);
    cr_assert_gt(open_streams(), 1);
    relay_stall(relay, true);
    int64_t begun_ms = clock_now_ms(&clock_system);
    sw_call_cancel(call);
    bench_fails(&b, finish(call, &tensors), SW_CANCELLED, SW_REASON_NONE);
    cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, KEEPALIVE_MS / 2,
                 "nobody waits for what is stalled");
    relay_stall(relay, false);
    while (open_streams() > 0) continue;
    pull_and_check(1);
}

Test(long_link, a_pull_that_is_not_through_at_its_deadline_says_so) {
    sw_tensors *tensors;
    learn();
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    sw_call *call = start(1, 1000);
    wait_for(before + BIG / 4);
    relay_stall(relay, true);
    bench_fails(&b, finish(call, &tensors), SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
    cr_assert_not_null(strstr(b.error.message, "did not send all within"), "%s", b.error.message);
}
