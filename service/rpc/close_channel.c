/* CloseChannel: nothing more will come in a channel, or in all of (stage, group). */
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

static void begin(struct call *call, const void *data, size_t size) {
    struct close_channel_request request;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = close_channel_request_decode(data, size, &call->arena, &request, &error);
    if (status == SW_OK) {
        status = store_close(guard_lock(call->guard), &request.address, request.kind, request.all,
                             request.reason, request.message, &error);
        guard_unlock_changed(call->guard);
    }
    if (status == SW_OK) status = empty_response_encode(&response, &error);
    call_reply_encoded(call, status, response, &error);
}

const struct method close_channel = {.path = PUBLISHER_SERVICE "CloseChannel", .begin = begin};
