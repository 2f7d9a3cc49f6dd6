#include <inttypes.h>

#include "client/pipeline/internal.h"
#include "client/pipeline/marker.h"
#include "proto/base/error.h"

#define RELEASE_TIMEOUT_MS 1000
#define DIFFERENCES_MAX    160

sw_pull pipeline_pull(const struct pipeline_place *place) {
    return (sw_pull){.address = place->address, .timeout_ms = pipeline_time_left_ms(place)};
}

/* What the last stage says at the end of the open step; with `no_wait` only if it has said so already. */
static sw_status pull_marker(sw_pipeline *pipeline, bool no_wait, uint32_t ret_calls[PIPELINE_KINDS],
                             sw_error *error) {
    struct pipeline_place place = pipeline_place_within(pipeline, pipeline->step.marker, SW_METRICS, 0);
    sw_pull pull = pipeline_pull(&place);
    pull.no_wait = no_wait;
    sw_metrics *metrics;
    sw_status status = sw_client_get_metrics(pipeline->client, &pull, &metrics, error);
    if (status != SW_OK) return status;
    if (!marker_read(sw_metrics_value(metrics), ret_calls))
        status = error_set_code(error, SW_INTERNAL, SW_REASON_NONE,
                                "\"%s\", step %" PRIu64 ": no marker of a step; the channel's name is taken, "
                                "so the last stage must publish nothing else there",
                                place.channel->name, pipeline->step.number);
    sw_metrics_destroy(metrics);
    return status;
}

static sw_status calls_differ(sw_pipeline *pipeline, const char *differences, sw_error *error) {
    return error_set(error, SW_REASON_OUT_OF_STEP,
                     "step %" PRIu64 " of \"%s\": stage %" PRIu32 " made other calls than the last stage, "
                     "%" PRIu32 ": %s; within a step every stage must make the same calls",
                     pipeline->step.number, pipeline->step.channel->name, pipeline->stage,
                     pipeline_last(pipeline), differences);
}

static sw_status step_left_out(sw_pipeline *pipeline, sw_error *error) {
    return error_set(error, SW_REASON_OUT_OF_STEP,
                     "step %" PRIu64 " of \"%s\": the last stage, %" PRIu32 ", left this step out, and stage "
                     "%" PRIu32 " did not; every stage must go through the same steps",
                     pipeline->step.number, pipeline->step.channel->name, pipeline_last(pipeline),
                     pipeline->stage);
}

sw_status pipeline_compare_calls(sw_pipeline *pipeline, sw_error *error) {
    sw_error own;
    error = error ? error : &own;
    uint32_t theirs[PIPELINE_KINDS];
    sw_status status = pull_marker(pipeline, false, theirs, error);
    if (status != SW_OK) {
        struct pipeline_place place = pipeline_place_within(pipeline, pipeline->step.marker, SW_METRICS, 0);
        return pipeline_explain(pipeline, &place, error);
    }
    char differences[DIFFERENCES_MAX];
    if (!marker_compare(pipeline->step.calls, theirs, differences, sizeof differences)) return SW_OK;
    return calls_differ(pipeline, differences, error);
}

static sw_status explain_skipped(sw_pipeline *pipeline, sw_error *error) {
    uint32_t theirs[PIPELINE_KINDS];
    char differences[DIFFERENCES_MAX];
    sw_error marker_error;
    sw_status status = pull_marker(pipeline, true, theirs, &marker_error);
    if (status == SW_OK && marker_compare(pipeline->step.calls, theirs, differences, sizeof differences))
        return calls_differ(pipeline, differences, error);
    if (status != SW_OK && marker_error.reason == SW_REASON_SKIPPED) return step_left_out(pipeline, error);
    error->reason = SW_REASON_OUT_OF_STEP;
    error->code = sw_reason_status(error->reason);
    error_prefix(error, "the last stage, %" PRIu32 ", went on without this call: ", pipeline_last(pipeline));
    return error->code;
}

sw_status pipeline_explain(sw_pipeline *pipeline, const struct pipeline_place *place, sw_error *error) {
    if (place->kind == SW_OBJECT) return error->code;
    if (error->reason == SW_REASON_SKIPPED && pipeline->step.open) return explain_skipped(pipeline, error);
    if (error->reason == SW_REASON_EVICTED)
        error_prefix(error,
                     "stage %" PRIu32 " fell too far behind the last stage, %" PRIu32 ", which waits %" PRIu32
                     " steps for it: ",
                     pipeline->stage, pipeline_last(pipeline), pipeline->max_lag_steps);
    return error->code;
}

/* Whatever of a channel the last stage may have named this stage as a consumer for: a step that failed there
 * does so for kinds that were never pulled here. */
static sw_status release_channel(sw_pipeline *pipeline, const struct pipeline_channel *channel) {
    sw_address address = {.run_id = pipeline->run_id,
                          .generation = pipeline->generation,
                          .has_stage = true,
                          .stage = pipeline_last(pipeline),
                          .group = pipeline->group,
                          .channel = channel->name};
    sw_status status = SW_OK;
    for (sw_item_kind kind = SW_METRICS; kind <= SW_TENSORS && status == SW_OK; kind++)
        status = sw_client_release(pipeline->client, &address, kind, SW_STEP_MAX, RELEASE_TIMEOUT_MS, NULL);
    return status;
}

void pipeline_release_all(sw_pipeline *pipeline) {
    sw_status status = SW_OK;
    for (struct pipeline_channel *channel = pipeline->channels; channel && status == SW_OK;
         channel = channel->next)
        status = release_channel(pipeline, channel);
}
