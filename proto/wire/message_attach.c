#include "proto/wire/messages.h"

#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"
#include "proto/wire/repeated.h"

/* ---- rules ---- */

static sw_status check_ids(const sw_channel_policy *policy, struct arena *arena, const struct path *path,
                           sw_error *error) {
    struct path consumers = path_field(path, "consumers");
    sw_bytes *ids = arena_get_array(arena, policy->consumer_count, sizeof *ids);
    if (!ids) return decode_out_of_memory(arena, error);
    for (uint32_t i = 0; i < policy->consumer_count; i++) {
        struct path consumer = path_index(&consumers, i);
        sw_status status = consumer_id_check(policy->consumers[i], false, &consumer, error);
        if (status != SW_OK) return status;
        ids[i] = sw_text_of(policy->consumers[i]);
    }
    size_t index;
    if (!repeated_find(ids, sizeof *ids, policy->consumer_count, arena->allocator, &index))
        return error_no_memory(error);
    if (index == policy->consumer_count) return SW_OK;
    struct path consumer = path_index(&consumers, index);
    return malformed(error, &consumer, "is there twice: \"%s\"", policy->consumers[index]);
}

static sw_status check_policy(const sw_channel_policy *policy, struct arena *arena, const struct path *path,
                              sw_error *error) {
    struct path channel = path_field(path, "channel"), kind = path_field(path, "kind");
    sw_status status = check_channel(policy->channel, &channel, error);
    if (status == SW_OK) status = check_kind((int)policy->kind, &kind, error);
    if (status == SW_OK) status = check_ids(policy, arena, path, error);
    return status;
}

/* Kind and channel in one text. */
static bool name_policy(struct arena *arena, const sw_channel_policy *policy, sw_bytes *ret) {
    size_t size = strlen(policy->channel);
    char *name = arena_get(arena, 1 + size);
    if (!name) return false;
    name[0] = (char)policy->kind;
    memcpy(name + 1, policy->channel, size);
    *ret = (sw_bytes){name, 1 + size};
    return true;
}

static sw_status check_declared_once(const sw_attachment *request, struct arena *arena, sw_error *error) {
    struct path policies = path_field(NULL, "policies");
    size_t index;
    sw_bytes *names = arena_get_array(arena, request->policy_count, sizeof *names);
    if (!names) return decode_out_of_memory(arena, error);
    for (uint32_t i = 0; i < request->policy_count; i++) {
        if (!name_policy(arena, &request->policies[i], &names[i])) return decode_out_of_memory(arena, error);
    }
    if (!repeated_find(names, sizeof *names, request->policy_count, arena->allocator, &index))
        return error_no_memory(error);
    if (index == request->policy_count) return SW_OK;
    struct path policy = path_index(&policies, index);
    const sw_channel_policy *twice = &request->policies[index];
    return malformed(error, &policy, "declares %s \"%s\" a second time", item_kind_name(twice->kind),
                     twice->channel);
}

static sw_status check_request(const sw_attachment *request, struct arena *arena, sw_error *error) {
    struct path run_id = path_field(NULL, "run_id"), policies = path_field(NULL, "policies");
    struct path stage = path_field(NULL, "stage"), count = path_field(NULL, "stage_count");
    sw_status status = check_run_id(request->run_id, &run_id, error);
    if (status == SW_OK)
        status = check_stage_count(request->stage, request->stage_count, &stage, &count, error);
    for (uint32_t i = 0; status == SW_OK && i < request->policy_count; i++) {
        struct path policy = path_index(&policies, i);
        status = check_policy(&request->policies[i], arena, &policy, error);
    }
    return status == SW_OK ? check_declared_once(request, arena, error) : status;
}

sw_status attach_request_check(const sw_attachment *request, sw_error *error) {
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    sw_status status = check_request(request, &arena, error);
    arena_destroy(&arena);
    return status;
}

/* ---- AttachRequest ---- */

static void policy_to_pb(Stagewire__V1__ChannelPolicy *to, const sw_channel_policy *from) {
    stagewire__v1__channel_policy__init(to);
    to->channel = pb_text(from->channel);
    to->kind = (Stagewire__V1__ItemKind)from->kind;
    to->keep_steps = from->keep_steps;
    to->n_consumers = from->consumer_count;
    to->consumers = (char **)from->consumers;
    to->max_lag_steps = from->max_lag_steps;
    to->next_step = from->next_step;
}

static bool policies_to_pb(struct arena *arena, const sw_attachment *from, Stagewire__V1__AttachRequest *to) {
    Stagewire__V1__ChannelPolicy *policies;
    if (!pb_array(arena, from->policy_count, sizeof *policies, (void **)&policies, (void ***)&to->policies))
        return false;
    for (uint32_t i = 0; i < from->policy_count; i++) policy_to_pb(&policies[i], &from->policies[i]);
    to->n_policies = from->policy_count;
    return true;
}

sw_status attach_request_encode(const sw_attachment *request, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__AttachRequest message = STAGEWIRE__V1__ATTACH_REQUEST__INIT;
    struct arena arena;
    message.run_id = pb_text(request->run_id);
    message.generation = request->generation;
    message.stage = request->stage;
    message.stage_count = request->stage_count;
    message.group = request->group;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = policies_to_pb(&arena, request, &message);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

static bool policies_from_pb(struct arena *arena, const Stagewire__V1__AttachRequest *from,
                             sw_attachment *to) {
    sw_channel_policy *policies = arena_get_array(arena, from->n_policies, sizeof *policies);
    if (!policies) return false;
    for (size_t i = 0; i < from->n_policies; i++) {
        const Stagewire__V1__ChannelPolicy *policy = from->policies[i];
        policies[i] = (sw_channel_policy){
            .channel = policy->channel,
            .kind = (sw_item_kind)policy->kind,
            .keep_steps = policy->keep_steps,
            .consumers = (const char *const *)policy->consumers,
            .consumer_count = (uint32_t)policy->n_consumers,
            .max_lag_steps = policy->max_lag_steps,
            .next_step = policy->next_step,
        };
    }
    to->policies = policies;
    to->policy_count = (uint32_t)from->n_policies;
    return true;
}

sw_status attach_request_decode(const void *data, size_t size, struct arena *arena, sw_attachment *ret,
                                sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status =
        pb_unpack(&stagewire__v1__attach_request__descriptor, span_of(data, size), arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__AttachRequest *message = (void *)unpacked;
    sw_attachment request = {
        .run_id = message->run_id,
        .generation = message->generation,
        .stage = message->stage,
        .stage_count = message->stage_count,
        .group = message->group,
    };
    if (!policies_from_pb(arena, message, &request)) return decode_out_of_memory(arena, error);
    status = check_request(&request, arena, error);
    if (status == SW_OK) *ret = request;
    return status;
}

/* ---- AttachResponse ---- */

sw_status attach_response_encode(uint64_t generation, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__AttachResponse message = STAGEWIRE__V1__ATTACH_RESPONSE__INIT;
    message.generation = generation;
    return pb_pack(&message.base, ret, error);
}

sw_status attach_response_decode(const void *data, size_t size, uint64_t *ret_generation, sw_error *error) {
    ProtobufCMessage *unpacked;
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status =
        pb_unpack(&stagewire__v1__attach_response__descriptor, span_of(data, size), &arena, &unpacked, error);
    if (status == SW_OK) *ret_generation = ((Stagewire__V1__AttachResponse *)(void *)unpacked)->generation;
    arena_destroy(&arena);
    return status;
}
