#include <stdlib.h>

#include "client/core/results.h"
#include "client/rpc/call.h"
#include "client/rpc/finish.h"
#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "proto/wire/value_codec.h"

struct exchange_call {
    struct sw_call call;
    uint32_t stage_count;
    sw_buffer *value; /* encoded; NULL: "not mine" */
    bool no_wait;
    sw_object *result;
};

static struct exchange_call *exchange_of(struct sw_call *call) {
    return container_of(call, struct exchange_call, call);
}

static sw_status exchange_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                  bool *ret_more, sw_error *error) {
    (void)ret_more;
    struct exchange_call *exchange = exchange_of(call);
    struct exchange_request request = {
        .address = call->address,
        .stage_count = exchange->stage_count,
        .present = exchange->value != NULL,
        .value_bytes = exchange->value,
        .wait = {.no_wait = exchange->no_wait,
                 .wait_ms = left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX},
    };
    return exchange_request_encode(&request, ret_request, error);
}

static sw_status decode(struct sw_call *call, const struct message_flat *flat, sw_object *object,
                        sw_error *error) {
    struct exchange_response response;
    sw_error why = {0};
    if (exchange_response_decode(flat->data, flat->size, &object->arena, &response, &why) != SW_OK)
        return call_unreadable(call, &why, error);
    object->owners = response.owners;
    object->owner_count = response.owner_count;
    object->value = response.value;
    return SW_OK;
}

static sw_status exchange_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    sw_object *object = object_create();
    status = object ? decode(call, &flat, object, error) : error_no_memory(error);
    message_flat_free(&flat);
    if (status != SW_OK) {
        sw_object_destroy(object);
        return status;
    }
    sw_object_destroy(exchange_of(call)->result);
    exchange_of(call)->result = object;
    return SW_OK;
}

static void exchange_destroy(struct sw_call *call) {
    sw_object_destroy(exchange_of(call)->result);
    sw_buffer_unref(exchange_of(call)->value);
    call_fini(call);
    free(exchange_of(call));
}

static const struct call_ops exchange_ops = {
    .method = "/stagewire.v1.StageService/ExchangeObject",
    .waits = true,
    .request = exchange_request,
    .message = exchange_message,
    .destroy = exchange_destroy,
};

static sw_status make(sw_client *client, const sw_exchange *asked, sw_call **ret_call, sw_error *error) {
    struct exchange_call *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return error_no_memory(error);
    exchange->stage_count = asked->stage_count;
    exchange->no_wait = asked->no_wait;
    sw_status status = call_init(&exchange->call, &exchange_ops, client, &asked->address, SW_OBJECT,
                                 asked->timeout_ms, error);
    if (status != SW_OK) {
        free(exchange);
        return status;
    }
    if (asked->value) status = value_encode(asked->value, false, &exchange->value, NULL, error);
    if (status == SW_OK)
        *ret_call = &exchange->call;
    else
        sw_call_destroy(&exchange->call);
    return status;
}

sw_status sw_client_start_exchange(sw_client *client, const sw_exchange *exchange, sw_call **ret_call,
                                   sw_error *error) {
    sw_call *call;
    sw_status status = make(client, exchange, &call, error);
    return status == SW_OK ? finish_start(call, ret_call, error) : status;
}

sw_status sw_call_finish_object(sw_call *call, sw_object **ret_object, sw_error *error) {
    sw_status status = finish_call(call, &exchange_ops, "object", error);
    if (status != SW_OK) return status;
    *ret_object = exchange_of(call)->result;
    exchange_of(call)->result = NULL;
    return SW_OK;
}

sw_status sw_client_exchange(sw_client *client, const sw_exchange *exchange, sw_object **ret_object,
                             sw_error *error) {
    sw_call *call;
    sw_status status = make(client, exchange, &call, error);
    if (status != SW_OK) return status;
    status = call_run(call, error);
    if (status == SW_OK) status = sw_call_finish_object(call, ret_object, error);
    sw_call_destroy(call);
    return status;
}
