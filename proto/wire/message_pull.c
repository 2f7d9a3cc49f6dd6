#include "proto/wire/messages.h"

#include "proto/base/limits.h"
#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"

/* ---- parts of several requests ---- */

void wait_to_pb(Stagewire__V1__Wait *to, const struct wait_request *from) {
    stagewire__v1__wait__init(to);
    to->no_wait = from->no_wait;
    to->wait_ms = from->wait_ms;
}

struct wait_request wait_from_pb(const Stagewire__V1__Wait *from) {
    return from ? (struct wait_request){from->no_wait != 0, from->wait_ms} : (struct wait_request){0};
}

void consumer_to_pb(Stagewire__V1__Consumer *to, const struct consumer_request *from) {
    stagewire__v1__consumer__init(to);
    to->id = pb_text(from->id);
    to->release_below = from->release_below;
    to->ends_pins = from->ends_pins;
}

struct consumer_request consumer_from_pb(const Stagewire__V1__Consumer *from) {
    if (!from) return (struct consumer_request){.id = ""};
    return (struct consumer_request){from->id, from->release_below, from->ends_pins != 0};
}

sw_status consumer_id_check(const char *id, bool may_be_empty, const struct path *path, sw_error *error) {
    return check_text(id, may_be_empty ? 0 : 1, LIMIT_CONSUMER_ID, "a consumer's id", path, error);
}

/* ---- rules ---- */

sw_status pull_request_check(const struct pull_request *request, sw_error *error) {
    struct path address = path_field(NULL, "address"), consumer = path_field(NULL, "consumer");
    struct path id = path_field(&consumer, "id"), ranges = path_field(NULL, "ranges");
    unsigned needs = CHECK_CHANNEL | (request->latest ? 0 : CHECK_STEP);
    sw_status status = check_address(&request->address, needs, &address, error);
    if (status == SW_OK) status = consumer_id_check(request->consumer.id, true, &id, error);
    for (uint32_t i = 0; status == SW_OK && i < request->range_count; i++) {
        struct path range = path_index(&ranges, i), name = path_field(&range, "name");
        status = check_text(request->ranges[i].name, 1, SW_TENSOR_NAME_MAX, "a tensor's name", &name, error);
    }
    return status;
}

/* ---- GetLossMetricsRequest ---- */

sw_status get_metrics_request_encode(const struct pull_request *request, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__GetLossMetricsRequest message = STAGEWIRE__V1__GET_LOSS_METRICS_REQUEST__INIT;
    Stagewire__V1__Address address;
    Stagewire__V1__Wait wait;
    Stagewire__V1__Consumer consumer;
    pb_from_address(message.address = &address, &request->address);
    wait_to_pb(message.wait = &wait, &request->wait);
    consumer_to_pb(message.consumer = &consumer, &request->consumer);
    message.latest = request->latest;
    return pb_pack(&message.base, ret, error);
}

sw_status get_metrics_request_decode(const void *data, size_t size, struct arena *arena,
                                     struct pull_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__get_loss_metrics_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__GetLossMetricsRequest *message = (void *)unpacked;
    struct pull_request request = {
        .address = pb_to_address(message->address),
        .latest = message->latest != 0,
        .wait = wait_from_pb(message->wait),
        .consumer = consumer_from_pb(message->consumer),
    };
    status = pull_request_check(&request, error);
    if (status == SW_OK) *ret = request;
    return status;
}

/* ---- StreamTensorsRequest ---- */

static bool ranges_to_pb(struct arena *arena, const struct pull_request *from,
                         Stagewire__V1__StreamTensorsRequest *to) {
    Stagewire__V1__TensorRange *ranges;
    if (!pb_array(arena, from->range_count, sizeof *ranges, (void **)&ranges, (void ***)&to->ranges))
        return false;
    to->n_ranges = from->range_count;
    for (uint32_t i = 0; i < from->range_count; i++) {
        stagewire__v1__tensor_range__init(&ranges[i]);
        ranges[i].name = pb_text(from->ranges[i].name);
        ranges[i].first_block = from->ranges[i].first_block;
        ranges[i].block_count = from->ranges[i].block_count;
    }
    return true;
}

sw_status stream_tensors_request_encode(const struct pull_request *request, sw_buffer **ret,
                                        sw_error *error) {
    Stagewire__V1__StreamTensorsRequest message = STAGEWIRE__V1__STREAM_TENSORS_REQUEST__INIT;
    Stagewire__V1__Address address;
    Stagewire__V1__Wait wait;
    Stagewire__V1__Consumer consumer;
    struct arena arena;
    pb_from_address(message.address = &address, &request->address);
    wait_to_pb(message.wait = &wait, &request->wait);
    consumer_to_pb(message.consumer = &consumer, &request->consumer);
    message.latest = request->latest;
    message.manifest_only = request->manifest_only;
    message.pin = request->pin;
    message.hand_over = request->hand_over;
    message.byte_limit = request->byte_limit;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = ranges_to_pb(&arena, request, &message);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

static bool ranges_from_pb(struct arena *arena, const Stagewire__V1__StreamTensorsRequest *from,
                           struct pull_request *to) {
    struct tensor_range *ranges = arena_get_array(arena, from->n_ranges, sizeof *ranges);
    if (!ranges) return false;
    for (size_t i = 0; i < from->n_ranges; i++) {
        const Stagewire__V1__TensorRange *range = from->ranges[i];
        ranges[i] = (struct tensor_range){range->name, range->first_block, range->block_count};
    }
    to->ranges = ranges;
    to->range_count = (uint32_t)from->n_ranges;
    return true;
}

sw_status stream_tensors_request_decode(const void *data, size_t size, struct arena *arena,
                                        struct pull_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__stream_tensors_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__StreamTensorsRequest *message = (void *)unpacked;
    struct pull_request request = {
        .address = pb_to_address(message->address),
        .latest = message->latest != 0,
        .wait = wait_from_pb(message->wait),
        .consumer = consumer_from_pb(message->consumer),
        .manifest_only = message->manifest_only != 0,
        .pin = message->pin,
        .hand_over = message->hand_over,
        .byte_limit = message->byte_limit,
    };
    if (!ranges_from_pb(arena, message, &request)) return decode_out_of_memory(arena, error);
    status = pull_request_check(&request, error);
    if (status == SW_OK) *ret = request;
    return status;
}
