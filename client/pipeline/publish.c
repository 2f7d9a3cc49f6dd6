#include <stdlib.h>

#include "client/pipeline/internal.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

#define LAST_WORDS_MS 1000 /* for a failure whose call has used up its time */

/* A lease declares every policy so far, so that one that is attached anew, at an endpoint that was started
 * anew too, declares them again. */
static sw_status attach_anew(sw_pipeline *pipeline, int64_t timeout_ms, sw_error *error) {
    sw_attachment attachment = {
        .run_id = pipeline->run_id,
        .generation = pipeline->generation,
        .stage = pipeline->stage,
        .stage_count = pipeline->stage_count,
        .group = pipeline->group,
        .policies = pipeline->policies,
        .policy_count = pipeline->policy_count,
    };
    sw_lease *lease;
    uint64_t generation;
    sw_status status = sw_attach(pipeline->publisher, &attachment, timeout_ms, &lease, &generation, error);
    if (status != SW_OK) return status;
    sw_lease_release(pipeline->own_lease);
    pipeline->own_lease = lease;
    return SW_OK;
}

/* Objects are met, and nobody pulls them. */
static bool has_consumers(const sw_pipeline *pipeline, sw_item_kind kind) {
    return !pipeline_is_single(pipeline) && kind != SW_OBJECT;
}

/* Names the other stages as consumers before a channel's first item. */
static sw_status declare(sw_pipeline *pipeline, const struct pipeline_place *place, sw_error *error) {
    if (!has_consumers(pipeline, place->kind) || place->channel->declared[place->kind]) return SW_OK;
    size_t size = (pipeline->policy_count + 1) * sizeof *pipeline->policies;
    sw_channel_policy *policies = realloc(pipeline->policies, size);
    if (!policies)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                              "no memory for a channel's policy");
    pipeline->policies = policies;
    policies[pipeline->policy_count++] = (sw_channel_policy){
        .channel = place->channel->name,
        .kind = place->kind,
        .consumers = (const char *const *)pipeline->consumers,
        .consumer_count = pipeline_last(pipeline),
        .max_lag_steps = pipeline->max_lag_steps,
    };
    sw_status status = attach_anew(pipeline, pipeline_time_left_ms(place), error);
    if (status == SW_OK)
        place->channel->declared[place->kind] = true;
    else
        pipeline->policy_count--;
    return status;
}

/* Where there is no room it is because of stages that lag: those belong into the words, too. */
static sw_status name_laggards(sw_status status, sw_error *error) {
    const char *laggards =
        error && error->reason == SW_REASON_STORE_FULL ? sw_error_metadata(error, "consumers") : NULL;
    if (status == SW_OK || !laggards) return status;
    error_prefix(error, "waited in vain for consumers that lag, %.256s: ", laggards);
    return status;
}

sw_status pipeline_publish_metrics(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const sw_value *metrics, sw_error *error) {
    sw_status status = declare(pipeline, place, error);
    if (status != SW_OK) return status;
    status = sw_publish_metrics(pipeline->publisher, &place->address, metrics, pipeline_time_left_ms(place),
                                NULL, error);
    return name_laggards(status, error);
}

sw_status pipeline_publish_tensors(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const sw_named_tensor *tensors, uint32_t count, sw_error *error) {
    sw_status status = declare(pipeline, place, error);
    if (status != SW_OK) return status;
    status = sw_publish_tensors(pipeline->publisher, &place->address, tensors, count,
                                pipeline_time_left_ms(place), NULL, error);
    return name_laggards(status, error);
}

sw_status pipeline_publish_failure(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const char *message, sw_error *error) {
    sw_status status = declare(pipeline, place, error);
    if (status != SW_OK) return status;
    sw_error words; /* whatever the caller wrote: cut, and UTF-8 */
    error_set_code(&words, SW_ABORTED, SW_REASON_NONE, "%s", message);
    return sw_publish_failure(pipeline->publisher, &place->address, place->kind, words.message,
                              pipeline_time_left_ms(place), NULL, error);
}

sw_status pipeline_give_up(sw_pipeline *pipeline, const struct pipeline_place *place, const sw_error *error) {
    if (!pipeline->publisher) return error->code;
    struct pipeline_place last_words = *place;
    int64_t at_least = clock_after(clock_now_ms(&clock_system), LAST_WORDS_MS);
    if (last_words.deadline_ms < at_least) last_words.deadline_ms = at_least;
    pipeline_publish_failure(pipeline, &last_words, error->message, NULL);
    return error->code;
}

sw_status sw_pipeline_call_failed(sw_pipeline *pipeline, sw_item_kind kind, const char *message,
                                  sw_error *error) {
    struct pipeline_place place;
    sw_status status = pipeline_place_next(pipeline, kind, &place, error);
    bool owed = pipeline_is_last(pipeline) && pipeline->publisher;
    return status == SW_OK && owed ? pipeline_publish_failure(pipeline, &place, message, error) : status;
}
