#include "proto/wire/health.h"

#include <grpc/health/v1/health.pb-c.h>

#include "proto/wire/pb.h"

sw_status health_request_encode(const char *service, sw_buffer **ret, sw_error *error) {
    Grpc__Health__V1__HealthCheckRequest message = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    message.service = pb_text(service);
    return pb_pack(&message.base, ret, error);
}

sw_status health_request_decode(const void *data, size_t size, struct arena *arena, const char **ret_service,
                                sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&grpc__health__v1__health_check_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status == SW_OK) *ret_service = ((Grpc__Health__V1__HealthCheckRequest *)(void *)unpacked)->service;
    return status;
}

sw_status health_response_encode(enum health_status status, sw_buffer **ret, sw_error *error) {
    Grpc__Health__V1__HealthCheckResponse message = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    message.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)status;
    return pb_pack(&message.base, ret, error);
}

sw_status health_response_decode(const void *data, size_t size, enum health_status *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    sw_status status = pb_unpack(&grpc__health__v1__health_check_response__descriptor, span_of(data, size),
                                 &arena, &unpacked, error);
    if (status == SW_OK) {
        int number = (int)((Grpc__Health__V1__HealthCheckResponse *)(void *)unpacked)->status;
        bool known = number >= HEALTH_UNKNOWN && number <= HEALTH_SERVICE_UNKNOWN;
        *ret = known ? (enum health_status)number : HEALTH_UNKNOWN;
    }
    arena_destroy(&arena);
    return status;
}

sw_status health_list_request_decode(const void *data, size_t size, sw_error *error) {
    return scan_message(&grpc__health__v1__health_list_request__descriptor, span_of(data, size), error);
}

struct entry_parts {
    Grpc__Health__V1__HealthListResponse__StatusesEntry entry;
    Grpc__Health__V1__HealthCheckResponse response;
};

sw_status health_list_encode(const struct health_entry *entries, size_t count, sw_buffer **ret,
                             sw_error *error) {
    Grpc__Health__V1__HealthListResponse message = GRPC__HEALTH__V1__HEALTH_LIST_RESPONSE__INIT;
    struct entry_parts *parts;
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = pb_array(&arena, count, sizeof *parts, (void **)&parts, (void ***)&message.statuses);
    for (size_t i = 0; made && i < count; i++) {
        grpc__health__v1__health_list_response__statuses_entry__init(&parts[i].entry);
        grpc__health__v1__health_check_response__init(&parts[i].response);
        parts[i].entry.key = pb_text(entries[i].service);
        parts[i].entry.value = &parts[i].response;
        parts[i].response.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)entries[i].status;
    }
    message.n_statuses = count;
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}
