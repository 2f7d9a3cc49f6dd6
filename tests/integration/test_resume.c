/* Tensors over a network that fails: whole and to the bit, or an error, and never anything else. */
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { BLOCK = 512 << 10, BLOCKS = 6, TAIL = 17, BIG = BLOCKS * BLOCK + TAIL };

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay */
static uint8_t *big;

static void open_all(void) {
    bench_open(&b, NULL);
    relay = relay_open(daemon_target(b.daemon, 0));
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

TestSuite(resume, .init = open_all, .fini = close_all, .timeout = 120);

static sw_status publish_through(sw_publisher *publisher, uint64_t step, bool *ret_duplicate) {
    const int64_t big_shape[] = {BIG}, small_shape[] = {1000};
    const sw_named_tensor tensors[] = {
        {.name = "small", .view = {SW_U8, 1, small_shape, big, 1000}},
        {.name = "big", .view = {SW_U8, 1, big_shape, big, BIG}},
        {.name = "last", .view = {SW_U8, 1, small_shape, big + 5, 1000}},
    };
    sw_address address = {.channel = "tensors", .step = step};
    return sw_publish_tensors(publisher, &address, tensors, 3, 0, ret_duplicate, &b.error);
}

static void publish(uint64_t step) {
    bench_ok(&b, publish_through(b.publisher, step, NULL));
}

static sw_status pull(uint64_t step, sw_tensors **ret_tensors) {
    sw_pull asked = {.address = {.channel = "tensors", .step = step}, .timeout_ms = 30000};
    return sw_client_get_tensors(client, &asked, NULL, 0, ret_tensors, &b.error);
}

static void pull_and_check(uint64_t step) {
    sw_tensors *tensors;
    bench_ok(&b, pull(step, &tensors));
    cr_assert_eq(sw_tensors_count(tensors), 3);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, big, BIG), 0);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "small")->data, big, 1000), 0);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "last")->data, big + 5, 1000), 0);
    sw_tensors_destroy(tensors);
}

/* So that what is counted from now on is not the connection's beginning. */
static void connect_client(void) {
    sw_info *info;
    bench_ok(&b, sw_client_info(client, 0, &info, &b.error));
    sw_info_destroy(info);
}

/* ---- pulling ---- */

Test(resume, a_stream_cut_after_any_block_goes_on_and_ends_whole) {
    publish(1);
    pull_and_check(1);
    for (uint64_t blocks = 0; blocks <= BLOCKS; blocks++) {
        static const uint64_t beyond[] = {1, 9, 1500, BLOCK / 2};
        for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
            unsigned connections = relay_connections(relay);
            relay_cut_after(relay, RELAY_TO_CLIENT, blocks * BLOCK + beyond[i]);
            pull_and_check(1);
            if (blocks < BLOCKS) cr_assert_gt(relay_connections(relay), connections, "it was cut");
        }
    }
}

/* What was under way when the cut came is lost, and that is no more than a window of HTTP/2. */
Test(resume, what_has_arrived_is_not_sent_again) {
    enum { HUGE_BYTES = 64 << 20 };
    sw_buffer *buffer;
    void *data;
    sw_tensors *tensors;
    bench_ok(&b, sw_buffer_create(HUGE_BYTES, &buffer, &data, &b.error));
    for (size_t i = 0; i < HUGE_BYTES; i += 997) ((uint8_t *)data)[i] = (uint8_t)(i >> 9);
    const int64_t shape[] = {HUGE_BYTES};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, NULL, 0}, .buffer = buffer};
    sw_address address = {.channel = "tensors", .step = 1};
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, &tensor, 1, 0, NULL, &b.error));
    connect_client();
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    relay_cut_after(relay, RELAY_TO_CLIENT, HUGE_BYTES / 8 * 7);
    bench_ok(&b, pull(1, &tensors));
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, data, HUGE_BYTES), 0);
    sw_tensors_destroy(tensors);
    sw_buffer_unref(buffer);
    uint64_t more = relay_bytes(relay, RELAY_TO_CLIENT) - before - HUGE_BYTES;
    cr_assert_lt(more, HUGE_BYTES / 2, "%lu bytes more than without the cut", (unsigned long)more);
}

Test(resume, a_stream_that_is_cut_all_the_time_still_ends) {
    publish(1);
    for (int i = 0; i < 3; i++) {
        sw_call *call;
        sw_tensors *tensors;
        sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .timeout_ms = 60000};
        bench_ok(&b, sw_client_start_tensors(client, &asked, NULL, 0, &call, &b.error));
        while (!sw_call_done(call)) {
            uint64_t next = relay_bytes(relay, RELAY_TO_CLIENT) + BLOCK + BLOCK / 4;
            relay_cut_after(relay, RELAY_TO_CLIENT, BLOCK + BLOCK / 4);
            while (!sw_call_done(call) && !relay_wait_for_bytes(relay, RELAY_TO_CLIENT, next, 20)) continue;
        }
        bench_ok(&b, sw_call_finish_tensors(call, &tensors, &b.error));
        cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, big, BIG), 0);
        sw_tensors_destroy(tensors);
        sw_call_destroy(call);
    }
}

Test(resume, a_stream_goes_on_with_an_item_that_has_gone_meanwhile) {
    publish(1);
    sw_call *call;
    sw_tensors *tensors;
    sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .timeout_ms = 30000};
    pull_and_check(1);
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    relay_cut_after(relay, RELAY_TO_CLIENT, 2 * BLOCK);
    relay_refuse(relay, true);
    bench_ok(&b, sw_client_start_tensors(client, &asked, NULL, 0, &call, &b.error));
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, before + 2 * BLOCK, 20000));
    publish(2);
    relay_refuse(relay, false);
    bench_ok(&b, sw_call_finish_tensors(call, &tensors, &b.error));
    cr_assert_eq(sw_tensors_address(tensors)->step, 1);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, big, BIG), 0);
    sw_tensors_destroy(tensors);
    sw_call_destroy(call);
}

/* ---- bits ---- */

static void publish_runs(uint8_t value) {
    memset(big, value, BIG);
    publish(1);
}

Test(resume, a_bit_turned_on_the_way_is_data_loss) {
    publish_runs(0xa5);
    sw_tensors *tensors = NULL;
    relay_turn_bit(relay, RELAY_TO_CLIENT, 0xa5, 5000);
    bench_fails(&b, pull(1, &tensors), SW_DATA_LOSS, SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(relay));
    cr_assert_null(tensors);
    cr_assert_not_null(strstr(b.error.message, "tensors \"tensors\", step 1"), "%s", b.error.message);
    pull_and_check(1);
}

Test(resume, a_bit_turned_in_a_publish_is_data_loss_and_nothing_is_published) {
    sw_tensors *tensors;
    memset(big, 0x5a, BIG);
    relay_turn_bit(relay, RELAY_TO_ENDPOINT, 0x5a, 5000);
    bench_fails(&b, publish_through(sw_client_publisher(client), 1, NULL), SW_DATA_LOSS, SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(relay));
    sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .no_wait = true};
    bench_fails(&b, sw_client_get_tensors(client, &asked, NULL, 0, &tensors, &b.error), SW_NOT_FOUND,
                SW_REASON_NOT_YET);
    bench_ok(&b, publish_through(sw_client_publisher(client), 1, NULL));
    pull_and_check(1);
}

/* ---- publishing ---- */

Test(resume, a_publish_that_is_cut_is_sent_again_and_is_whole) {
    static const uint64_t cuts[] = {300, BLOCK / 2, 2 * BLOCK, 4 * BLOCK + 7, 6 * BLOCK};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        unsigned connections = relay_connections(relay);
        relay_cut_after(relay, RELAY_TO_ENDPOINT, cuts[i]);
        bench_ok(&b, publish_through(sw_client_publisher(client), i, NULL));
        cr_assert_gt(relay_connections(relay), connections);
        pull_and_check(i);
    }
}

Test(resume, a_publish_whose_answer_is_lost_is_known_to_be_the_same) {
    bool duplicate = false;
    connect_client();
    relay_cut_after(relay, RELAY_TO_CLIENT, 60);
    bench_ok(&b, publish_through(sw_client_publisher(client), 1, &duplicate));
    pull_and_check(1);
}

/* ---- networks that say nothing ---- */

Test(resume, a_call_over_a_network_that_says_nothing_ends_at_its_deadline) {
    sw_metrics *metrics;
    publish(1);
    pull_and_check(1);
    relay_stall(relay, true);
    sw_pull asked = {.address = {.channel = "train"}, .timeout_ms = 200};
    bench_fails(&b, sw_client_get_metrics(client, &asked, &metrics, &b.error), SW_DEADLINE_EXCEEDED,
                SW_REASON_NONE);
    cr_assert_not_null(strstr(b.error.message, "metrics \"train\""), "%s", b.error.message);
    cr_assert_not_null(strstr(b.error.message, relay_target(relay)), "%s", b.error.message);
    relay_stall(relay, false);
    pull_and_check(1);
}

Test(resume, a_pull_cancelled_in_a_stalled_stream_writes_no_more) {
    publish(1);
    sw_call *call;
    uint8_t *into = calloc(1, BIG);
    sw_tensor_request request = {"big", into, BIG};
    sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .timeout_ms = 30000};
    pull_and_check(1);
    uint64_t before = relay_bytes(relay, RELAY_TO_CLIENT);
    bench_ok(&b, sw_client_start_tensors(client, &asked, &request, 1, &call, &b.error));
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, before + BLOCK, 20000));
    relay_stall(relay, true);
    sw_call_destroy(call);
    free(into); /* nothing writes there any more, or AddressSanitizer tells */
    relay_stall(relay, false);
    pull_and_check(1);
}
