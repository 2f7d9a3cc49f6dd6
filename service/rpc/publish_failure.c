/* PublishFailure: there will be no such item, and why. */
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

static void begin(struct call *call, const void *data, size_t size) {
    struct publish_failure_request request;
    bool duplicate = false;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = publish_failure_request_decode(data, size, &call->arena, &request, &error);
    if (status == SW_OK) {
        status = store_publish_failure(guard_lock(call->guard), &request.address, request.kind,
                                       request.message, &duplicate, &error);
        guard_unlock_changed(call->guard);
    }
    if (status == SW_OK) status = published_response_encode(duplicate, &response, &error);
    call_reply_encoded(call, status, response, &error);
}

const struct method publish_failure = {.path = PUBLISHER_SERVICE "PublishFailure", .begin = begin};
