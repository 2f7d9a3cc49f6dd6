#include "client/rpc/health.h"

#include <stdlib.h>

#include "client/rpc/call.h"
#include "proto/base/error.h"
#include "proto/transport/slices.h"

struct health_call {
    struct sw_call call;
    const char *service; /* the caller's, who waits */
    enum health_status answer;
};

static struct health_call *health_of(struct sw_call *call) {
    return container_of(call, struct health_call, call);
}

static sw_status health_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                bool *ret_more, sw_error *error) {
    (void)left_ms;
    (void)ret_more;
    return health_request_encode(health_of(call)->service, ret_request, error);
}

static sw_status health_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    sw_error why = {0};
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, &why);
    if (status == SW_OK) {
        status = health_response_decode(flat.data, flat.size, &health_of(call)->answer, &why);
        message_flat_free(&flat);
    }
    return status == SW_OK ? SW_OK : call_unreadable(call, &why, error);
}

static void health_destroy(struct sw_call *call) {
    call_fini(call);
    free(health_of(call));
}

static const struct call_ops health_ops = {
    .method = "/grpc.health.v1.Health/Check",
    .request = health_request,
    .message = health_message,
    .destroy = health_destroy,
};

sw_status client_health(sw_client *client, const char *service, int64_t timeout_ms,
                        enum health_status *ret_status, sw_error *error) {
    struct health_call *health = calloc(1, sizeof *health);
    if (!health) return error_no_memory(error);
    health->service = service;
    sw_status status = call_init(&health->call, &health_ops, client, NULL, SW_METRICS, timeout_ms, error);
    if (status != SW_OK) {
        free(health);
        return status;
    }
    status = call_run(&health->call, error);
    if (status == SW_OK) *ret_status = health->answer;
    sw_call_destroy(&health->call);
    return status;
}
