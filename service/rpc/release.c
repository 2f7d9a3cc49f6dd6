/* Release: consumers are done with steps. */
#include "proto/base/error.h"
#include "service/rpc/call.h"
#include "service/rpc/gate.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

static void begin(struct call *call, const void *data, size_t size) {
    struct release_request request;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = release_request_decode(data, size, &call->arena, &request, &error);
    for (uint32_t i = 0; status == SW_OK && i < request.consumer_count; i++)
        status = gate_check_consumer(call, request.consumers[i].id, &error);
    if (status == SW_OK) {
        status = store_release(guard_lock(call->guard), &request, &error);
        guard_unlock_changed(call->guard);
    }
    if (status == SW_OK) status = empty_response_encode(&response, &error);
    call_reply_encoded(call, status, response, &error);
}

const struct method release_steps = {.path = STAGE_SERVICE "Release", .begin = begin};
