/* GetLossMetrics: one item, at once or when it is published. */
#include "proto/transport/slices.h"
#include "service/rpc/methods.h"
#include "service/rpc/pulling.h"

/* The payload is the item's own, by reference. */
static void answer(struct call *call, const struct store_item *item) {
    uint8_t head[METRICS_HEAD_MAX];
    size_t size =
        metrics_response_head(&item->address, item->published_unix_ns, sw_buffer_size(item->metrics), head);
    grpc_byte_buffer *response = message_of_parts(head, size, slice_of_buffer(item->metrics));
    pulling_release(call->state);
    call_reply(call, response);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct pulling *pulling = call->state;
    sw_error error;
    if (get_metrics_request_decode(data, size, &call->arena, &pulling->request, &error) != SW_OK) {
        call_fail(call, &error);
    } else {
        pulling_start(call, pulling, SW_METRICS, answer);
    }
}

static void woken(struct call *call) {
    pulling_woken(call->state);
}

static void end(struct call *call) {
    pulling_end(call->state);
}

const struct method get_loss_metrics = {
    .path = STAGE_SERVICE "GetLossMetrics",
    .state_size = sizeof(struct pulling),
    .begin = begin,
    .woken = woken,
    .end = end,
};
