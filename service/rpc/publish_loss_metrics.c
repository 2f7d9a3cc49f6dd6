/* PublishLossMetrics: one dict, or a list of them. */
#include "proto/wire/value_codec.h"
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

static sw_status publish(struct call *call, const struct publish_metrics_request *request,
                         bool *ret_duplicate, sw_error *error) {
    sw_buffer *bytes;
    struct digest digest;
    /* The store says TOO_LARGE in its turn. */
    sw_status status = metrics_encode(request->metrics, true, &bytes, &digest, error);
    if (status != SW_OK) return status;
    status = store_publish_metrics(guard_lock(call->guard), &request->address, bytes, digest, ret_duplicate,
                                   error);
    guard_unlock_changed(call->guard);
    sw_buffer_unref(bytes);
    return status;
}

static void begin(struct call *call, const void *data, size_t size) {
    struct publish_metrics_request request;
    bool duplicate = false;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = publish_metrics_request_decode(data, size, &call->arena, &request, &error);
    if (status == SW_OK) status = publish(call, &request, &duplicate, &error);
    if (status == SW_OK) status = published_response_encode(duplicate, &response, &error);
    call_reply_encoded(call, status, response, &error);
}

const struct method publish_loss_metrics = {.path = PUBLISHER_SERVICE "PublishLossMetrics", .begin = begin};
