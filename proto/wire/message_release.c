#include "proto/wire/messages.h"

#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"

bool consumers_to_pb(struct arena *arena, const struct consumer_request *from, uint32_t count,
                     Stagewire__V1__Consumer ***ret) {
    Stagewire__V1__Consumer *consumers;
    if (!pb_array(arena, count, sizeof *consumers, (void **)&consumers, (void ***)ret)) return false;
    for (uint32_t i = 0; i < count; i++) consumer_to_pb(&consumers[i], &from[i]);
    return true;
}

bool consumers_from_pb(struct arena *arena, Stagewire__V1__Consumer *const *from, size_t count,
                       const struct consumer_request **ret) {
    struct consumer_request *consumers = arena_get_array(arena, count, sizeof *consumers);
    if (!consumers) return false;
    for (size_t i = 0; i < count; i++) consumers[i] = consumer_from_pb(from[i]);
    *ret = consumers;
    return true;
}

sw_status release_request_check(const struct release_request *request, sw_error *error) {
    struct path address = path_field(NULL, "address"), kind = path_field(NULL, "kind");
    struct path consumers = path_field(NULL, "consumers");
    sw_status status = check_address(&request->address, CHECK_CHANNEL, &address, error);
    if (status == SW_OK) status = check_kind((int)request->kind, &kind, error);
    for (uint32_t i = 0; status == SW_OK && i < request->consumer_count; i++) {
        struct path consumer = path_index(&consumers, i), id = path_field(&consumer, "id");
        status = consumer_id_check(request->consumers[i].id, false, &id, error);
    }
    return status;
}

sw_status release_request_encode(const struct release_request *request, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__ReleaseRequest message = STAGEWIRE__V1__RELEASE_REQUEST__INIT;
    Stagewire__V1__Address address;
    struct arena arena;
    pb_from_address(message.address = &address, &request->address);
    message.kind = (Stagewire__V1__ItemKind)request->kind;
    message.n_consumers = request->consumer_count;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = consumers_to_pb(&arena, request->consumers, request->consumer_count, &message.consumers);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

sw_status release_request_decode(const void *data, size_t size, struct arena *arena,
                                 struct release_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status =
        pb_unpack(&stagewire__v1__release_request__descriptor, span_of(data, size), arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__ReleaseRequest *message = (void *)unpacked;
    struct release_request request = {
        .address = pb_to_address(message->address),
        .kind = (sw_item_kind)message->kind,
        .consumer_count = (uint32_t)message->n_consumers,
    };
    if (!consumers_from_pb(arena, message->consumers, message->n_consumers, &request.consumers))
        return decode_out_of_memory(arena, error);
    status = release_request_check(&request, error);
    if (status == SW_OK) *ret = request;
    return status;
}
