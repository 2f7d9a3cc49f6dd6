#include "tests/unit/wire/requests.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire/value_codec.h"

sw_address full_address(void) {
    return (sw_address){"run-ä", 3, true, 2, 1, "train/loss_0.A-z", SW_STEP_MAX, UINT32_MAX};
}

struct pull_request full_pull(void) {
    static const struct tensor_range ranges[] = {{"weight", 5, 6}, {"损失", 0, UINT64_MAX}, {"weight", 1, 0}};
    return (struct pull_request){full_address(), true, {true, 1500}, {"rank-1", 77, true}, ranges, 3, true,
                                 UINT64_MAX,     8,    UINT64_MAX};
}

struct manifest full_manifest(void) {
    static const int64_t matrix[] = {3, 1000}, empty[] = {0, INT64_MAX};
    static const struct tensor_info tensors[] = {{"weight", SW_BF16, 2, matrix, 6000, UINT64_MAX},
                                                 {"scalar", SW_C128, 0, NULL, 16, 1},
                                                 {"empty", SW_U8, 2, empty, 0, 0}};
    static const char *const via[] = {"relay-a", "relay-b"};
    return (struct manifest){full_address(), 3, tensors, 4096, -5, 9, via, 2};
}

struct publish_failure_request full_failure(void) {
    return (struct publish_failure_request){full_address(), SW_TENSORS, "损失 is NaN"};
}

struct close_channel_request full_close(void) {
    return (struct close_channel_request){full_address(), SW_METRICS, true, SW_CLOSE_ABORTED, "why"};
}

struct release_request full_release(void) {
    static const struct consumer_request consumers[] = {
        {"a", 1, false}, {"b", UINT64_MAX, true}, {"a", 3, false}};
    return (struct release_request){full_address(), SW_OBJECT, consumers, 3};
}

sw_attachment full_attachment(void) {
    static const char *const ids[] = {"a", "b"};
    static const sw_channel_policy policies[] = {{"train", SW_METRICS, 5, ids, 2, 64, UINT64_MAX},
                                                 {"train", SW_TENSORS, 0, NULL, 0, 0, 0}};
    return (sw_attachment){"run-a", 2, 3, 4, 1, policies, 2};
}

struct watch_request full_watch(void) {
    static const uint32_t stages[] = {3, 2}, groups[] = {0};
    static const char *const channels[] = {"train", "tr*", "*"};
    static const struct channel_filter filters[] = {{stages, 2, groups, 1, channels, 3}, {0}};
    static sw_address positions[2];
    positions[0] = positions[1] = full_address();
    positions[1].stage = 4;
    return (struct watch_request){"run-a", filters, 2, WATCH_POSITIONS, positions, 2};
}

struct channel_closed full_closed(void) {
    return (struct channel_closed){full_address(), SW_METRICS, SW_CLOSE_PUBLISHER_LOST, "gone", 7};
}

struct stage_info full_info(void) {
    static const struct lease_info leases[] = {{3, 0, 4, false}, {2, 1, 4, true}};
    static const struct consumer_request consumers[] = {{"a", 5, false}};
    static const char *const features[] = {"pins", "x"}, *const rights[] = {"watch", "pull"},
                             *const patterns[] = {"stage-*"}, *const warnings[] = {"careful"};
    static struct channel_info channels[2];
    channels[0] = (struct channel_info){true, full_address(), full_address(), SW_TENSORS, 4, 5, consumers,
                                        1,    true,           full_closed()};
    channels[1] =
        (struct channel_info){.latest = full_address(), .oldest = full_address(), .kind = SW_METRICS};
    return (struct stage_info){
        .run_id = "run-a",
        .generation = 3,
        .leases = leases,
        .lease_count = 2,
        .version = "0.1.0",
        .features = features,
        .feature_count = 2,
        .channels = channels,
        .channel_count = 2,
        .next_page_token = "next",
        .incarnation = UINT64_MAX,
        .held_bytes = 11,
        .store_bytes = 12,
        .load = {1, 2, 3, 4, 5, 6, 7, 8},
        .caller = {"spiffe://a/b", rights, 2, patterns, 1},
        .warnings = warnings,
        .warning_count = 1,
        .security = {true, true, "spiffe://d/a", "CN = ca", "00ff", "is empty", -1, INT64_MAX, 3, 4, 5},
        .hand_over = {true, 1, 2, 3, 4, 5, 6}};
}

struct exchange_request full_exchange(void) {
    static sw_value value;
    static sw_buffer *bytes;
    static struct digest digest;
    value = sw_text("an object");
    if (!bytes && value_encode(&value, false, &bytes, &digest, NULL) != SW_OK) abort();
    return (struct exchange_request){full_address(), 4, true, &value, bytes, digest, {true, 9}};
}

bool addresses_equal(const sw_address *a, const sw_address *b) {
    return strcmp(a->run_id, b->run_id) == 0 && a->generation == b->generation &&
           a->has_stage == b->has_stage && a->stage == b->stage && a->group == b->group &&
           strcmp(a->channel, b->channel) == 0 && a->step == b->step && a->call == b->call;
}
