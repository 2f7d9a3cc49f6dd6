#include <stdlib.h>

#include "client/core/answer.h"
#include "client/core/results.h"
#include "client/rpc/call.h"
#include "client/rpc/finish.h"
#include "client/rpc/pull.h"
#include "proto/base/error.h"
#include "proto/transport/slices.h"

struct metrics_call {
    struct sw_call call;
    struct pull pull;
    sw_metrics *result;
};

static struct metrics_call *metrics_of(struct sw_call *call) {
    return container_of(call, struct metrics_call, call);
}

static void metrics_begin(struct sw_call *call) {
    pull_begin(&metrics_of(call)->pull, call);
}

static sw_status metrics_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                 bool *ret_more, sw_error *error) {
    (void)ret_more;
    struct pull_request request = pull_request_of(&metrics_of(call)->pull, call, left_ms);
    return get_metrics_request_encode(&request, ret_request, error);
}

static sw_status decode(struct sw_call *call, const struct message_flat *flat, sw_metrics *metrics,
                        sw_error *error) {
    struct metrics_response response;
    sw_error why = {0};
    if (metrics_response_decode(flat->data, flat->size, &metrics->arena, &response, &why) != SW_OK)
        return call_unreadable(call, &why, error);
    if (!answer_fits(&call->address, metrics_of(call)->pull.latest, &response.address))
        return answer_broken(error, &call->address, call->kind, "the endpoint answers with another item",
                             NULL);
    metrics->address = response.address;
    metrics->value = response.metrics;
    metrics->published_unix_ns = response.published_unix_ns;
    return SW_OK;
}

static sw_status metrics_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    sw_metrics *metrics = metrics_create();
    status = metrics ? decode(call, &flat, metrics, error) : error_no_memory(error);
    message_flat_free(&flat);
    if (status != SW_OK) {
        sw_metrics_destroy(metrics);
        return status;
    }
    sw_metrics_destroy(metrics_of(call)->result);
    metrics_of(call)->result = metrics;
    return SW_OK;
}

static void metrics_done(struct sw_call *call, const sw_error *error) {
    struct metrics_call *metrics = metrics_of(call);
    bool arrived = error->code == SW_OK && metrics->result;
    pull_done(&metrics->pull, call, error, arrived ? &metrics->result->address : NULL);
}

static void metrics_call_destroy(struct sw_call *call) {
    sw_metrics_destroy(metrics_of(call)->result);
    call_fini(call);
    free(metrics_of(call));
}

static const struct call_ops metrics_ops = {
    .method = "/stagewire.v1.StageService/GetLossMetrics",
    .waits = true,
    .begin = metrics_begin,
    .request = metrics_request,
    .message = metrics_message,
    .done = metrics_done,
    .destroy = metrics_call_destroy,
};

static sw_status make(sw_client *client, const sw_pull *pull, sw_call **ret_call, sw_error *error) {
    struct metrics_call *metrics = calloc(1, sizeof *metrics);
    if (!metrics) return error_no_memory(error);
    pull_init(&metrics->pull, pull);
    sw_status status =
        call_init(&metrics->call, &metrics_ops, client, &pull->address, SW_METRICS, pull->timeout_ms, error);
    if (status == SW_OK)
        *ret_call = &metrics->call;
    else
        free(metrics);
    return status;
}

sw_status sw_client_start_metrics(sw_client *client, const sw_pull *pull, sw_call **ret_call,
                                  sw_error *error) {
    sw_call *call;
    sw_status status = make(client, pull, &call, error);
    return status == SW_OK ? finish_start(call, ret_call, error) : status;
}

sw_status sw_call_finish_metrics(sw_call *call, sw_metrics **ret_metrics, sw_error *error) {
    sw_status status = finish_call(call, &metrics_ops, "metrics", error);
    if (status != SW_OK) return status;
    *ret_metrics = metrics_of(call)->result;
    metrics_of(call)->result = NULL;
    return SW_OK;
}

sw_status sw_client_get_metrics(sw_client *client, const sw_pull *pull, sw_metrics **ret_metrics,
                                sw_error *error) {
    sw_call *call;
    sw_status status = make(client, pull, &call, error);
    if (status != SW_OK) return status;
    status = call_run(call, error);
    if (status == SW_OK) status = sw_call_finish_metrics(call, ret_metrics, error);
    sw_call_destroy(call);
    return status;
}
