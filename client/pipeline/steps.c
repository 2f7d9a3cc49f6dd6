#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/pipeline/internal.h"
#include "client/pipeline/marker.h"
#include "proto/base/error.h"

#define DEFAULT_CHANNEL "train"

static sw_status check_channel(const char *channel, sw_error *error) {
    size_t size = strlen(channel);
    if (size == 0 || size > PIPELINE_CHANNEL_MAX)
        return error_set(
            error, SW_REASON_MALFORMED,
            "the channel of a step has a name of %zu bytes; it may have 1 to %zu, so that \"%s\" "
            "fits behind it",
            size, PIPELINE_CHANNEL_MAX, PIPELINE_MARKER_SUFFIX);
    size_t good = strspn(channel, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/");
    if (good < size)
        return error_set(error, SW_REASON_MALFORMED,
                         "the channel \"%s\" of a step: byte %zu is none of A-Z a-z 0-9 . _ - /", channel,
                         good + 1);
    return SW_OK;
}

sw_status sw_pipeline_step_begin(sw_pipeline *pipeline, uint64_t number, const char *name, sw_error *error) {
    if (!name) name = DEFAULT_CHANNEL;
    struct pipeline_step *step = &pipeline->step;
    if (step->open)
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "step %" PRIu64 " of \"%s\" cannot begin: step %" PRIu64 " of \"%s\" has not "
                              "ended; end it with sw_pipeline_step_end",
                              number, name, step->number, step->channel->name);
    sw_status status = check_channel(name, error);
    if (status != SW_OK) return status;
    if (number > SW_STEP_MAX)
        return error_set(error, SW_REASON_MALFORMED, "step %" PRIu64 " of \"%s\": steps go to 2^63-1", number,
                         name);

    char marker[SW_CHANNEL_MAX + 1];
    snprintf(marker, sizeof marker, "%s%s", name, PIPELINE_MARKER_SUFFIX);
    struct pipeline_channel *channel = pipeline_channel_get(pipeline, name);
    struct pipeline_channel *marker_channel = pipeline_channel_get(pipeline, marker);
    if (!channel || !marker_channel)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for a channel");
    if (channel->stepped && number <= channel->last_step)
        return error_set(error, SW_REASON_STEP_WENT_BACK,
                         "step %" PRIu64 " of \"%s\" cannot begin after step %" PRIu64
                         ": steps grow strictly "
                         "within a channel; give what is repeated a channel of its own",
                         number, name, channel->last_step);
    channel->stepped = true;
    channel->last_step = number;
    *step =
        (struct pipeline_step){.open = true, .number = number, .channel = channel, .marker = marker_channel};
    return SW_OK;
}

/* Metrics are for those who watch, too; the rest is for other stages alone. */
static sw_status publish_failed_step(sw_pipeline *pipeline, const char *message, sw_error *error) {
    struct pipeline_step *step = &pipeline->step;
    struct pipeline_place places[] = {
        pipeline_place_within(pipeline, step->channel, SW_METRICS, step->calls[SW_METRICS]),
        pipeline_place_within(pipeline, step->channel, SW_TENSORS, step->calls[SW_TENSORS]),
        pipeline_place_within(pipeline, step->channel, SW_OBJECT, step->calls[SW_OBJECT]),
        pipeline_place_within(pipeline, step->marker, SW_METRICS, 0),
    };
    size_t count = pipeline_is_single(pipeline) ? 1 : sizeof places / sizeof *places;
    sw_status status = SW_OK;
    for (size_t i = 0; i < count && status == SW_OK; i++)
        status = pipeline_publish_failure(pipeline, &places[i], message, error);
    return status;
}

static sw_status publish_marker(sw_pipeline *pipeline, sw_error *error) {
    sw_entry entries[MARKER_ENTRIES];
    sw_value marker = marker_write(pipeline->step.calls, entries);
    struct pipeline_place place = pipeline_place_within(pipeline, pipeline->step.marker, SW_METRICS, 0);
    return pipeline_publish_metrics(pipeline, &place, &marker, error);
}

sw_status sw_pipeline_step_end(sw_pipeline *pipeline, const char *failure, sw_error *error) {
    if (!pipeline->step.open)
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "no step to end: begin one with sw_pipeline_step_begin");
    sw_status status = SW_OK;
    if (pipeline_is_last(pipeline)) {
        if (failure)
            status = pipeline->publisher ? publish_failed_step(pipeline, failure, error) : SW_OK;
        else if (!pipeline_is_single(pipeline))
            status = publish_marker(pipeline, error);
    } else if (!failure) {
        status = pipeline_compare_calls(pipeline, error);
    }
    pipeline->step.open = false;
    return status;
}
