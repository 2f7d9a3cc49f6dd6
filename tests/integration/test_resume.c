/* Tensors over a network that fails: whole and to the bit, or an error, and never anything else. */
#include <stdlib.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/relayed.h"
#include "tests/support/test.h"

enum { BLOCK = 512 << 10, BLOCKS = 6, TAIL = 17, BIG = BLOCKS * BLOCK + TAIL };

static struct relayed r;

static void open_all(void) {
    bench_open(&r.bench, NULL);
    relayed_open(&r, daemon_target(r.bench.daemon, 0), BIG);
}

static void close_all(void) {
    relayed_close(&r);
}

TestSuite(resume, .init = open_all, .fini = close_all, .timeout = 120);

static sw_status pull(uint64_t step, sw_tensors **ret_tensors) {
    return relayed_finish(&r, relayed_start(&r, step, 30000), ret_tensors);
}

/* ---- pulling ---- */

Test(resume, a_stream_cut_after_any_block_goes_on_and_ends_whole) {
    relayed_publish(&r, 1);
    relayed_pull_and_check(&r, 1);
    for (uint64_t blocks = 0; blocks <= BLOCKS; blocks++) {
        static const uint64_t beyond[] = {1, 9, 1500, BLOCK / 2};
        for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
            unsigned connections = relay_connections(r.relay);
            relay_cut_after(r.relay, RELAY_TO_CLIENT, blocks * BLOCK + beyond[i]);
            relayed_pull_and_check(&r, 1);
            if (blocks < BLOCKS) cr_assert_gt(relay_connections(r.relay), connections, "it was cut");
        }
    }
}

/* What was under way when the cut came is lost, and that is no more than a window of HTTP/2. */
Test(resume, what_has_arrived_is_not_sent_again) {
    enum { HUGE_BYTES = 64 << 20 };
    sw_buffer *buffer;
    void *data;
    sw_tensors *tensors;
    bench_ok(&r.bench, sw_buffer_create(HUGE_BYTES, &buffer, &data, &r.bench.error));
    for (size_t i = 0; i < HUGE_BYTES; i += 997) ((uint8_t *)data)[i] = (uint8_t)(i >> 9);
    const int64_t shape[] = {HUGE_BYTES};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, NULL, 0}, .buffer = buffer};
    sw_address address = {.channel = "tensors", .step = 1};
    bench_ok(&r.bench, sw_publish_tensors(r.bench.publisher, &address, &tensor, 1, 0, NULL, &r.bench.error));
    relayed_round_trip(&r);
    uint64_t before = relayed_arrived(&r);
    relay_cut_after(r.relay, RELAY_TO_CLIENT, HUGE_BYTES / 8 * 7);
    bench_ok(&r.bench, pull(1, &tensors));
    cr_assert_eq(memcmp(sw_tensors_view(tensors, 0)->data, data, HUGE_BYTES), 0);
    sw_tensors_destroy(tensors);
    sw_buffer_unref(buffer);
    uint64_t more = relayed_arrived(&r) - before - HUGE_BYTES;
    cr_assert_lt(more, HUGE_BYTES / 2, "%lu bytes more than without the cut", (unsigned long)more);
}

Test(resume, a_stream_that_is_cut_all_the_time_still_ends) {
    relayed_publish(&r, 1);
    for (int i = 0; i < 3; i++) {
        sw_call *call = relayed_start(&r, 1, 60000);
        while (!sw_call_done(call)) {
            uint64_t next = relayed_arrived(&r) + BLOCK + BLOCK / 4;
            relay_cut_after(r.relay, RELAY_TO_CLIENT, BLOCK + BLOCK / 4);
            while (!sw_call_done(call) && !relay_wait_for_bytes(r.relay, RELAY_TO_CLIENT, next, 20)) continue;
        }
        relayed_finish_and_check(&r, call);
    }
}

Test(resume, a_stream_goes_on_with_an_item_that_has_gone_meanwhile) {
    sw_tensors *tensors;
    relayed_publish(&r, 1);
    relayed_pull_and_check(&r, 1);
    uint64_t before = relayed_arrived(&r);
    relay_cut_after(r.relay, RELAY_TO_CLIENT, 2 * BLOCK);
    relay_refuse(r.relay, true);
    sw_call *call = relayed_start(&r, 1, 30000);
    cr_assert(relay_wait_for_bytes(r.relay, RELAY_TO_CLIENT, before + 2 * BLOCK, 20000));
    relayed_publish(&r, 2);
    relay_refuse(r.relay, false);
    bench_ok(&r.bench, relayed_finish(&r, call, &tensors));
    cr_assert_eq(sw_tensors_address(tensors)->step, 1);
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, r.big, BIG), 0);
    sw_tensors_destroy(tensors);
}

/* ---- bits ---- */

static void publish_runs(uint8_t value) {
    memset(r.big, value, BIG);
    relayed_publish(&r, 1);
}

Test(resume, a_bit_turned_on_the_way_is_data_loss) {
    publish_runs(0xa5);
    sw_tensors *tensors = NULL;
    relay_turn_bit(r.relay, RELAY_TO_CLIENT, 0xa5, 5000);
    bench_fails(&r.bench, pull(1, &tensors), SW_DATA_LOSS, SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(r.relay));
    cr_assert_null(tensors);
    cr_assert_not_null(strstr(r.bench.error.message, "tensors \"tensors\", step 1"), "%s",
                       r.bench.error.message);
    relayed_pull_and_check(&r, 1);
}

Test(resume, a_bit_turned_in_a_publish_is_data_loss_and_nothing_is_published) {
    sw_tensors *tensors;
    memset(r.big, 0x5a, BIG);
    relay_turn_bit(r.relay, RELAY_TO_ENDPOINT, 0x5a, 5000);
    bench_fails(&r.bench, relayed_publish_by(&r, sw_client_publisher(r.client), 1, NULL), SW_DATA_LOSS,
                SW_REASON_CHECKSUM);
    cr_assert(relay_has_turned(r.relay));
    sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .no_wait = true};
    bench_fails(&r.bench, sw_client_get_tensors(r.client, &asked, NULL, 0, &tensors, &r.bench.error),
                SW_NOT_FOUND, SW_REASON_NOT_YET);
    bench_ok(&r.bench, relayed_publish_by(&r, sw_client_publisher(r.client), 1, NULL));
    relayed_pull_and_check(&r, 1);
}

/* ---- publishing ---- */

Test(resume, a_publish_that_is_cut_is_sent_again_and_is_whole) {
    static const uint64_t cuts[] = {300, BLOCK / 2, 2 * BLOCK, 4 * BLOCK + 7, 6 * BLOCK};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        unsigned connections = relay_connections(r.relay);
        relay_cut_after(r.relay, RELAY_TO_ENDPOINT, cuts[i]);
        bench_ok(&r.bench, relayed_publish_by(&r, sw_client_publisher(r.client), i, NULL));
        cr_assert_gt(relay_connections(r.relay), connections);
        relayed_pull_and_check(&r, i);
    }
}

Test(resume, a_publish_whose_answer_is_lost_is_known_to_be_the_same) {
    bool duplicate = false;
    relayed_round_trip(&r);
    relay_cut_after(r.relay, RELAY_TO_CLIENT, 60);
    bench_ok(&r.bench, relayed_publish_by(&r, sw_client_publisher(r.client), 1, &duplicate));
    relayed_pull_and_check(&r, 1);
}

/* ---- networks that say nothing ---- */

Test(resume, a_call_over_a_network_that_says_nothing_ends_at_its_deadline) {
    sw_metrics *metrics;
    relayed_publish(&r, 1);
    relayed_pull_and_check(&r, 1);
    relay_stall(r.relay, true);
    sw_pull asked = {.address = {.channel = "train"}, .timeout_ms = 200};
    bench_fails(&r.bench, sw_client_get_metrics(r.client, &asked, &metrics, &r.bench.error),
                SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
    cr_assert_not_null(strstr(r.bench.error.message, "metrics \"train\""), "%s", r.bench.error.message);
    cr_assert_not_null(strstr(r.bench.error.message, relay_target(r.relay)), "%s", r.bench.error.message);
    relay_stall(r.relay, false);
    relayed_pull_and_check(&r, 1);
}

Test(resume, a_pull_cancelled_in_a_stalled_stream_writes_no_more) {
    relayed_publish(&r, 1);
    sw_call *call;
    uint8_t *into = calloc(1, BIG);
    sw_tensor_request request = {"big", into, BIG};
    sw_pull asked = {.address = {.channel = "tensors", .step = 1}, .timeout_ms = 30000};
    relayed_pull_and_check(&r, 1);
    uint64_t before = relayed_arrived(&r);
    bench_ok(&r.bench, sw_client_start_tensors(r.client, &asked, &request, 1, &call, &r.bench.error));
    cr_assert(relay_wait_for_bytes(r.relay, RELAY_TO_CLIENT, before + BLOCK, 20000));
    relay_stall(r.relay, true);
    sw_call_destroy(call);
    free(into); /* nothing writes there any more, or AddressSanitizer tells */
    relay_stall(r.relay, false);
    relayed_pull_and_check(&r, 1);
}
