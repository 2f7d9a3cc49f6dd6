#include <string.h>

#include "client/core/results.h"
#include "client/pipeline/internal.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"
#include "proto/wire/value_codec.h"

#define NO_METRICS "Last PP stage must provide loss metrics."

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for loss metrics");
}

static sw_status set_address(sw_metrics *metrics, const struct pipeline_place *place, sw_error *error) {
    const char *run_id = place->address.run_id ? place->address.run_id : "";
    metrics->address = place->address;
    metrics->address.run_id = arena_string(&metrics->arena, run_id, strlen(run_id));
    metrics->address.channel =
        arena_string(&metrics->arena, place->channel->name, strlen(place->channel->name));
    metrics->published_unix_ns = clock_system.unix_ns(clock_system.context);
    return metrics->address.run_id && metrics->address.channel ? SW_OK : no_memory(error);
}

/* By way of the wire, so that it owns all that it shows and is what the others get. */
static sw_status copy_value(sw_metrics *metrics, const sw_value *value, sw_error *error) {
    sw_buffer *bytes;
    sw_status status = metrics_encode(value, false, &bytes, NULL, error);
    if (status != SW_OK) return status;
    status =
        metrics_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &metrics->arena, &metrics->value, error);
    sw_buffer_unref(bytes);
    return status;
}

/* What the publishing stage gets: its own object where it is alone, else a copy of what was sent. */
static sw_status make_result(sw_pipeline *pipeline, const struct pipeline_place *place,
                             const sw_value *passed, const sw_value *sent, sw_metrics **ret_metrics,
                             sw_error *error) {
    sw_metrics *metrics = metrics_create();
    if (!metrics) return no_memory(error);
    sw_status status = set_address(metrics, place, error);
    if (pipeline_is_single(pipeline))
        metrics->value = passed;
    else if (status == SW_OK)
        status = copy_value(metrics, sent, error);
    if (status == SW_OK)
        *ret_metrics = metrics;
    else
        sw_metrics_destroy(metrics);
    return status;
}

static sw_status publish(sw_pipeline *pipeline, const struct pipeline_place *place, const sw_value *passed,
                         sw_metrics **ret_metrics, sw_error *error) {
    if (!passed) return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, NO_METRICS);
    sw_materialized *copy;
    sw_metrics *metrics = NULL;
    sw_status status = sw_pipeline_materialize_loss_metrics_for_object_broadcast(passed, &copy, error);
    if (status != SW_OK) return status;
    const sw_value *sent = sw_materialized_value(copy);
    if (ret_metrics) status = make_result(pipeline, place, passed, sent, &metrics, error);
    if (status == SW_OK && pipeline->publisher)
        status = pipeline_publish_metrics(pipeline, place, sent, error);
    sw_materialized_destroy(copy);
    if (status == SW_OK && ret_metrics)
        *ret_metrics = metrics;
    else
        sw_metrics_destroy(metrics);
    return status;
}

static sw_status pull(sw_pipeline *pipeline, const struct pipeline_place *place, sw_metrics **ret_metrics,
                      sw_error *error) {
    sw_pull request = pipeline_pull(place);
    sw_status status = sw_client_get_metrics(pipeline->client, &request, ret_metrics, error);
    return status == SW_OK ? SW_OK : pipeline_explain(pipeline, place, error);
}

sw_status sw_pipeline_broadcast_loss_metrics_from_last_stage(sw_pipeline *pipeline, const sw_value *metrics,
                                                             sw_metrics **ret_metrics, sw_error *error) {
    sw_error own;
    error = error ? error : &own;
    struct pipeline_place place;
    sw_status status = pipeline_place_next(pipeline, SW_METRICS, &place, error);
    if (status != SW_OK) return status;
    if (!pipeline_is_last(pipeline)) return pull(pipeline, &place, ret_metrics, error);
    status = publish(pipeline, &place, metrics, ret_metrics, error);
    return status == SW_OK ? SW_OK : pipeline_give_up(pipeline, &place, error);
}
