#include "service/rpc/methods.h"

const struct method *const methods[METHOD_COUNT] = {
    &get_loss_metrics, &stream_tensors,  &watch_loss_metrics, &release_steps,
    &exchange_object,  &attach_trainer,  &get_stage_info,     &publish_loss_metrics,
    &publish_tensors,  &publish_failure, &close_channel,      &health_check,
    &health_list,      &health_watch,    &server_reflection,  &server_reflection_v1alpha,
};

size_t method_index(const struct method *method) {
    size_t i = 0;
    while (methods[i] != method) i++;
    return i;
}
