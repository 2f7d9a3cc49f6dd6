#include "service/rpc/unknown_method.h"

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "service/rpc/call.h"

static void refuse(struct call *call, const void *request, size_t size) {
    (void)request, (void)size;
    sw_error error;
    error_set_code(
        &error, SW_UNIMPLEMENTED, SW_REASON_NONE,
        "no method %.*s here; stagewire.v1.StageService and stagewire.v1.PublisherService are served",
        (int)GRPC_SLICE_LENGTH(call->details.method),
        (const char *)GRPC_SLICE_START_PTR(call->details.method));
    call_fail(call, &error);
}

/* It counts as reading so that nobody waits for a request message. */
static void drop(struct call *call, grpc_byte_buffer *message) {
    (void)call, (void)message;
}

const struct method unknown_method = {
    .path = "an unknown method", .reads = true, .begin = refuse, .received = drop};
