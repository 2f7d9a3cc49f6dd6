#include "tests/support/relayed.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum { PULL_MS = 60000 };

void relayed_open(struct relayed *r, const char *endpoint, size_t size) {
    r->relay = relay_open(endpoint);
    r->client = bench_client_of(&r->bench, relay_target(r->relay), 30000);
    r->size = size;
    r->big = malloc(size);
    for (size_t i = 0; i < size; i++) r->big[i] = (uint8_t)(i * 2654435761u >> 11);
}

void relayed_close(struct relayed *r) {
    sw_client_close(r->client);
    relay_close(r->relay);
    bench_close(&r->bench);
    free(r->big);
}

void relayed_delay(struct relayed *r, int64_t delay_ms) {
    relay_delay(r->relay, RELAY_TO_CLIENT, delay_ms);
    relay_delay(r->relay, RELAY_TO_ENDPOINT, delay_ms);
}

uint64_t relayed_arrived(const struct relayed *r) {
    return relay_bytes(r->relay, RELAY_TO_CLIENT);
}

static uint64_t streams_seen_by(struct relayed *r, sw_client *client) {
    sw_info *info;
    bench_ok(&r->bench, sw_client_info(client, 0, &info, &r->bench.error));
    uint64_t streams = info->streams;
    sw_info_destroy(info);
    return streams;
}

void relayed_round_trip(struct relayed *r) {
    streams_seen_by(r, r->client);
}

uint64_t relayed_streams(struct relayed *r) {
    return streams_seen_by(r, r->bench.client);
}

sw_status relayed_publish_by(struct relayed *r, sw_publisher *publisher, uint64_t step, bool *ret_duplicate) {
    const int64_t shape[] = {(int64_t)r->size}, small[] = {RELAYED_SMALL};
    const sw_named_tensor tensors[] = {
        {.name = "small", .view = {SW_U8, 1, small, r->big, RELAYED_SMALL}},
        {.name = "big", .view = {SW_U8, 1, shape, r->big, r->size}},
        {.name = "last", .view = {SW_U8, 1, small, r->big + 5, RELAYED_SMALL}},
    };
    sw_address address = {.channel = "tensors", .step = step};
    return sw_publish_tensors(publisher, &address, tensors, 3, 0, ret_duplicate, &r->bench.error);
}

void relayed_publish(struct relayed *r, uint64_t step) {
    bench_ok(&r->bench, relayed_publish_by(r, r->bench.publisher, step, NULL));
}

sw_call *relayed_start(struct relayed *r, uint64_t step, int64_t timeout_ms) {
    sw_call *call;
    sw_pull asked = {.address = {.channel = "tensors", .step = step}, .timeout_ms = timeout_ms};
    bench_ok(&r->bench, sw_client_start_tensors(r->client, &asked, NULL, 0, &call, &r->bench.error));
    return call;
}

sw_call *relayed_start_and_wait_for(struct relayed *r, uint64_t step, uint64_t bytes) {
    uint64_t before = relayed_arrived(r);
    sw_call *call = relayed_start(r, step, PULL_MS);
    cr_assert(relay_wait_for_bytes(r->relay, RELAY_TO_CLIENT, before + bytes, PULL_MS));
    return call;
}

sw_status relayed_finish(struct relayed *r, sw_call *call, sw_tensors **ret_tensors) {
    sw_status status = sw_call_finish_tensors(call, ret_tensors, &r->bench.error);
    sw_call_destroy(call);
    return status;
}

static void check(const sw_tensors *tensors, const char *name, const uint8_t *bytes, size_t size) {
    const sw_tensor_view *view = sw_tensors_find(tensors, name);
    cr_assert_not_null(view, "%s", name);
    cr_assert_eq(view->size, size);
    cr_assert_eq(memcmp(view->data, bytes, size), 0, "%s", name);
}

void relayed_finish_and_check(struct relayed *r, sw_call *call) {
    sw_tensors *tensors;
    bench_ok(&r->bench, relayed_finish(r, call, &tensors));
    cr_assert_eq(sw_tensors_count(tensors), 3);
    check(tensors, "small", r->big, RELAYED_SMALL);
    check(tensors, "big", r->big, r->size);
    check(tensors, "last", r->big + 5, RELAYED_SMALL);
    sw_tensors_destroy(tensors);
}

void relayed_pull_and_check(struct relayed *r, uint64_t step) {
    relayed_finish_and_check(r, relayed_start(r, step, PULL_MS));
}
