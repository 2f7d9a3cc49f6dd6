#include "client/rpc/release.h"

#include <stdlib.h>

#include "client/rpc/call.h"
#include "proto/base/error.h"

struct release_call {
    struct sw_call call;
    uint64_t below;
};

static struct release_call *release_of(struct sw_call *call) {
    return container_of(call, struct release_call, call);
}

static sw_status release_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                 bool *ret_more, sw_error *error) {
    (void)left_ms;
    (void)ret_more;
    uint64_t below = release_of(call)->below;
    struct consumer_request consumer = {
        .id = call->client->consumer_id,
        .release_below = below,
        .ends_pins = !released_may_resume(&call->client->released, &call->address, call->kind, below),
    };
    struct release_request request = {
        .address = call->address, .kind = call->kind, .consumers = &consumer, .consumer_count = 1};
    return release_request_encode(&request, ret_request, error);
}

/* There is nothing in it. */
static sw_status release_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    (void)call;
    (void)message;
    (void)error;
    return SW_OK;
}

static void release_done(struct sw_call *call, const sw_error *error) {
    if (error->code == SW_OK)
        released_told(&call->client->released, &call->address, call->kind, release_of(call)->below);
}

static void release_destroy(struct sw_call *call) {
    call_fini(call);
    free(release_of(call));
}

static const struct call_ops release_ops = {
    .method = "/stagewire.v1.StageService/Release",
    .request = release_request,
    .message = release_message,
    .done = release_done,
    .destroy = release_destroy,
};

static sw_status make(sw_client *client, const sw_address *address, sw_item_kind kind, uint64_t below,
                      int64_t timeout_ms, struct sw_call **ret_call, sw_error *error) {
    struct release_call *release = calloc(1, sizeof *release);
    if (!release) return error_no_memory(error);
    release->below = below;
    sw_status status = call_init(&release->call, &release_ops, client, address, kind, timeout_ms, error);
    if (status == SW_OK)
        *ret_call = &release->call;
    else
        free(release);
    return status;
}

void release_alone(sw_client *client, const sw_address *address, sw_item_kind kind, uint64_t below) {
    struct sw_call *call;
    if (make(client, address, kind, below, 0, &call, NULL) == SW_OK) call_start_alone(call);
}

sw_status sw_client_release(sw_client *client, const sw_address *address, sw_item_kind kind,
                            uint64_t release_below, int64_t timeout_ms, sw_error *error) {
    sw_status status = client_check(client, error);
    if (status != SW_OK) return status;
    if (!client->consumer_id[0])
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "this client has no consumer id, so nothing waits for it; set "
                              "sw_client_options.consumer_id to release steps");
    struct sw_call *call;
    status = make(client, address, kind, release_below, timeout_ms, &call, error);
    if (status != SW_OK) return status;
    status = call_run(call, error);
    sw_call_destroy(call);
    return status;
}
