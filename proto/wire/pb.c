#include "proto/wire/pb.h"

#include "proto/base/buffer.h"
#include "proto/base/error.h"

struct unpacking {
    struct arena *arena;
    bool out_of_memory;
};

static void *unpack_get(void *context, size_t size) {
    struct unpacking *unpacking = context;
    void *memory = arena_get(unpacking->arena, size);
    if (!memory) unpacking->out_of_memory = true;
    return memory;
}

/* All goes with the arena. */
static void unpack_put(void *context, void *memory) {
    (void)context;
    (void)memory;
}

sw_status pb_unpack(const ProtobufCMessageDescriptor *descriptor, struct span message, struct arena *arena,
                    ProtobufCMessage **ret, sw_error *error) {
    sw_status status = scan_message(descriptor, message, error);
    if (status != SW_OK) return status;
    struct unpacking unpacking = {arena, false};
    ProtobufCAllocator allocator = {unpack_get, unpack_put, &unpacking};
    ProtobufCMessage *unpacked =
        protobuf_c_message_unpack(descriptor, &allocator, message.size, message.data);
    if (unpacking.out_of_memory) return decode_out_of_memory(arena, error);
    if (!unpacked)
        return malformed_at(error, descriptor->short_name, "is nothing that protobuf-c can unpack");
    *ret = unpacked;
    return SW_OK;
}

sw_status pb_pack(const ProtobufCMessage *message, sw_buffer **ret, sw_error *error) {
    sw_buffer *buffer;
    void *data;
    sw_status status = buffer_create(protobuf_c_message_get_packed_size(message), &buffer, &data, error);
    if (status != SW_OK) return status;
    protobuf_c_message_pack(message, data);
    *ret = buffer;
    return SW_OK;
}

bool pb_array(struct arena *arena, size_t count, size_t size, void **ret_first, void ***ret_pointers) {
    char *first = arena_get_array(arena, count, size);
    void **pointers = arena_get_array(arena, count, sizeof *pointers);
    if (!first || !pointers) return false;
    for (size_t i = 0; i < count; i++) pointers[i] = first + i * size;
    *ret_first = first;
    *ret_pointers = pointers;
    return true;
}

void pb_from_address(Stagewire__V1__Address *to, const sw_address *from) {
    stagewire__v1__address__init(to);
    to->run_id = pb_text(from->run_id);
    to->generation = from->generation;
    if (from->has_stage) {
        to->owner_case = STAGEWIRE__V1__ADDRESS__OWNER_STAGE;
        to->stage = from->stage;
    }
    to->group = from->group;
    to->channel = pb_text(from->channel);
    to->step = from->step;
    to->call = from->call;
}

sw_address pb_to_address(const Stagewire__V1__Address *from) {
    if (!from) return (sw_address){.run_id = "", .channel = ""};
    bool has_stage = from->owner_case == STAGEWIRE__V1__ADDRESS__OWNER_STAGE;
    return (sw_address){
        .run_id = from->run_id,
        .generation = from->generation,
        .has_stage = has_stage,
        .stage = has_stage ? from->stage : 0,
        .group = from->group,
        .channel = from->channel,
        .step = from->step,
        .call = from->call,
    };
}
