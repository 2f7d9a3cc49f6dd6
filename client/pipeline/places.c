#include <stdlib.h>
#include <string.h>

#include "client/pipeline/internal.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

static const char *const counted_channels[PIPELINE_KINDS] = {
    [SW_METRICS] = "metrics",
    [SW_TENSORS] = "tensors",
    [SW_OBJECT] = "objects",
};

struct pipeline_channel *pipeline_channel_get(sw_pipeline *pipeline, const char *name) {
    for (struct pipeline_channel *channel = pipeline->channels; channel; channel = channel->next)
        if (strcmp(channel->name, name) == 0) return channel;
    size_t size = strlen(name) + 1;
    struct pipeline_channel *channel = calloc(1, sizeof *channel + size);
    if (!channel) return NULL;
    memcpy(channel->name, name, size);
    channel->next = pipeline->channels;
    pipeline->channels = channel;
    return channel;
}

static struct pipeline_place place_at(sw_pipeline *pipeline, struct pipeline_channel *channel,
                                      sw_item_kind kind, uint64_t step, uint32_t call) {
    return (struct pipeline_place){
        .address = {.run_id = pipeline->run_id,
                    .generation = pipeline->generation,
                    .has_stage = true,
                    .stage = kind == SW_OBJECT ? pipeline->stage : pipeline_last(pipeline),
                    .group = pipeline->group,
                    .channel = channel->name,
                    .step = step,
                    .call = call},
        .kind = kind,
        .channel = channel,
        .deadline_ms = clock_after(clock_now_ms(&clock_system), pipeline->timeout_ms),
    };
}

struct pipeline_place pipeline_place_within(sw_pipeline *pipeline, struct pipeline_channel *channel,
                                            sw_item_kind kind, uint32_t call) {
    return place_at(pipeline, channel, kind, pipeline->step.number, call);
}

sw_status pipeline_place_next(sw_pipeline *pipeline, sw_item_kind kind, struct pipeline_place *ret_place,
                              sw_error *error) {
    struct pipeline_step *step = &pipeline->step;
    if (step->open) {
        *ret_place = pipeline_place_within(pipeline, step->channel, kind, step->calls[kind]++);
        return SW_OK;
    }
    uint64_t number = pipeline->counted[kind]++;
    struct pipeline_channel *channel = pipeline_channel_get(pipeline, counted_channels[kind]);
    if (!channel)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for a channel");
    *ret_place = place_at(pipeline, channel, kind, number, 0);
    return SW_OK;
}

int64_t pipeline_time_left_ms(const struct pipeline_place *place) {
    int64_t left = place->deadline_ms - clock_now_ms(&clock_system);
    return left > 1 ? left : 1;
}
