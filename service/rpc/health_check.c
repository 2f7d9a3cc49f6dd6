/* Check: how a service is. */
#include "proto/base/error.h"
#include "service/rpc/call.h"
#include "service/rpc/health.h"
#include "service/rpc/methods.h"

static sw_status answer(const struct server *server, const char *name, sw_buffer **ret, sw_error *error) {
    enum health_status health = health_of(server, name);
    if (health != HEALTH_SERVICE_UNKNOWN) return health_response_encode(health, ret, error);
    return error_set_code(error, SW_NOT_FOUND, SW_REASON_NONE,
                          "no service '%.256s' here; List names those that there are", name);
}

static void begin(struct call *call, const void *data, size_t size) {
    const char *name;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = health_request_decode(data, size, &call->arena, &name, &error);
    if (status == SW_OK) status = answer(call->server, name, &response, &error);
    call_reply_encoded(call, status, response, &error);
}

const struct method health_check = {.path = HEALTH_SERVICE "Check", .begin = begin};
