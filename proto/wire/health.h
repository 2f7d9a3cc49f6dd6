/* The messages of grpc.health.v1 as plain structs, as messages.h has those of stage.proto, and by its rules.
 */
#ifndef STAGEWIRE_WIRE_HEALTH_H
#define STAGEWIRE_WIRE_HEALTH_H

#include <stddef.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

#include "proto/wire/arena.h"

enum health_status {
    HEALTH_UNKNOWN = 0,
    HEALTH_SERVING = 1,
    HEALTH_NOT_SERVING = 2,
    HEALTH_SERVICE_UNKNOWN = 3, /* from Watch alone */
};

/* HealthCheckRequest, of Check and Watch. */
sw_status health_request_encode(const char *service, sw_buffer **ret, sw_error *error);
sw_status health_request_decode(const void *data, size_t size, struct arena *arena, const char **ret_service,
                                sw_error *error);

/* HealthCheckResponse. A status that this version does not know is HEALTH_UNKNOWN. */
sw_status health_response_encode(enum health_status status, sw_buffer **ret, sw_error *error);
sw_status health_response_decode(const void *data, size_t size, enum health_status *ret, sw_error *error);

struct health_entry {
    const char *service;
    enum health_status status;
};
/* HealthListRequest, which is empty. */
sw_status health_list_request_decode(const void *data, size_t size, sw_error *error);
/* HealthListResponse. */
sw_status health_list_encode(const struct health_entry *entries, size_t count, sw_buffer **ret,
                             sw_error *error);

#endif
