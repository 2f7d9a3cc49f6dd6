#include "client/pipeline/internal.h"
#include "proto/base/error.h"

/* A tensor of no elements needs no bytes. */
static bool is_missing(const sw_named_tensor *tensor) {
    if (tensor->buffer || tensor->view.data) return false;
    uint64_t bytes;
    return !sw_tensor_bytes(tensor->view.dtype, tensor->view.rank, tensor->view.shape, &bytes) || bytes > 0;
}

static sw_status publish(sw_pipeline *pipeline, const struct pipeline_place *place,
                         const sw_named_tensor *tensors, uint32_t count, sw_error *error) {
    for (uint32_t i = 0; i < count; i++)
        if (is_missing(&tensors[i]))
            return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                                  "Last PP stage must provide tensor '%s' for broadcast.", tensors[i].name);
    if (pipeline_is_single(pipeline)) return SW_OK;
    return pipeline_publish_tensors(pipeline, place, tensors, count, error);
}

sw_status sw_pipeline_broadcast_tensors_from_last_stage(sw_pipeline *pipeline, const sw_named_tensor *tensors,
                                                        const sw_tensor_request *requests, uint32_t count,
                                                        sw_tensors **ret_tensors, sw_error *error) {
    sw_error own;
    error = error ? error : &own;
    struct pipeline_place place;
    sw_status status = pipeline_place_next(pipeline, SW_TENSORS, &place, error);
    if (status != SW_OK) return status;
    if (pipeline_is_last(pipeline)) {
        status = publish(pipeline, &place, tensors, count, error);
        if (status == SW_OK)
            *ret_tensors = NULL;
        else if (!pipeline_is_single(pipeline))
            pipeline_give_up(pipeline, &place, error);
        return status;
    }
    sw_pull pull = pipeline_pull(&place);
    status = sw_client_get_tensors(pipeline->client, &pull, requests, count, ret_tensors, error);
    return status == SW_OK ? SW_OK : pipeline_explain(pipeline, &place, error);
}
