/* What the files of this room share: a rank's state, where its next call goes, and how the last stage
 * publishes.
 *
 * Every call counts, whatever becomes of it: so the n-th call of one rank meets the n-th of another even
 * after one of them failed. Where the last stage's call cannot publish its value it publishes a failure in
 * its place.
 *
 * The other stages are consumers "stage-0", "stage-1", ... of every channel that the last stage uses. What
 * they pulled is released with their next pull of the channel, and the rest when they close. */
#ifndef STAGEWIRE_CLIENT_PIPELINE_INTERNAL_H
#define STAGEWIRE_CLIENT_PIPELINE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/pipeline.h>

/* The marker at the end of a step: one dict that says how many calls the last stage made. */
#define PIPELINE_MARKER_SUFFIX "/stagewire.calls"
#define PIPELINE_CHANNEL_MAX   (SW_CHANNEL_MAX - (sizeof PIPELINE_MARKER_SUFFIX - 1))

#define PIPELINE_KINDS (SW_OBJECT + 1) /* arrays by sw_item_kind; 0 is unused */

struct pipeline_channel {
    struct pipeline_channel *next;
    bool declared[PIPELINE_KINDS]; /* on the last stage: as consumers' policies */
    bool stepped;
    uint64_t last_step; /* that was begun, if stepped */
    char name[];
};

struct pipeline_step {
    bool open;
    uint64_t number;
    struct pipeline_channel *channel, *marker;
    uint32_t calls[PIPELINE_KINDS];
};

struct sw_pipeline {
    char *run_id; /* NULL: whatever run */
    uint64_t generation;
    uint32_t group, stage, stage_count, max_lag_steps;
    int64_t timeout_ms;
    sw_publisher *publisher; /* NULL where this stage has none */
    sw_client *client;       /* of the last stage's endpoint; NULL with one stage */
    sw_lease *own_lease, *last_lease;

    char **consumers; /* "stage-N" of all but the last */
    sw_channel_policy *policies;
    uint32_t policy_count;

    struct pipeline_channel *channels;
    struct pipeline_step step;
    uint64_t counted[PIPELINE_KINDS]; /* calls outside steps */
};

/* Where a call goes. */
struct pipeline_place {
    sw_address address;
    sw_item_kind kind;
    struct pipeline_channel *channel;
    int64_t deadline_ms; /* of clock_system */
};

static inline uint32_t pipeline_last(const sw_pipeline *pipeline) {
    return pipeline->stage_count - 1;
}
static inline bool pipeline_is_last(const sw_pipeline *pipeline) {
    return pipeline->stage == pipeline_last(pipeline);
}
static inline bool pipeline_is_single(const sw_pipeline *pipeline) {
    return pipeline->stage_count == 1;
}

/* ---- places.c ---- */

/* The place of the next call of a kind; the call counts from now on. RESOURCE_EXHAUSTED without memory. */
sw_status pipeline_place_next(sw_pipeline *pipeline, sw_item_kind kind, struct pipeline_place *ret_place,
                              sw_error *error);
/* A place within the open step that is no call's: the next one's, or the marker's. */
struct pipeline_place pipeline_place_within(sw_pipeline *pipeline, struct pipeline_channel *channel,
                                            sw_item_kind kind, uint32_t call);
/* What is left until the place's deadline, at least 1. */
int64_t pipeline_time_left_ms(const struct pipeline_place *place);

/* Finds or adds a channel; NULL without memory. */
struct pipeline_channel *pipeline_channel_get(sw_pipeline *pipeline, const char *name);

/* ---- publish.c: the last stage ---- */

sw_status pipeline_publish_metrics(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const sw_value *metrics, sw_error *error);
sw_status pipeline_publish_tensors(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const sw_named_tensor *tensors, uint32_t count, sw_error *error);
sw_status pipeline_publish_failure(sw_pipeline *pipeline, const struct pipeline_place *place,
                                   const char *message, sw_error *error);
/* For a call that failed here with `error`: tells the others, as far as that can be done, and returns its
 * code. */
sw_status pipeline_give_up(sw_pipeline *pipeline, const struct pipeline_place *place, const sw_error *error);

/* ---- pull.c: the others ---- */

sw_pull pipeline_pull(const struct pipeline_place *place);
/* Puts into words what an answer means for a pipeline: SKIPPED within a step is OUT_OF_STEP, EVICTED means
 * that this stage is too far behind. Returns the code. `error` is not NULL. */
sw_status pipeline_explain(sw_pipeline *pipeline, const struct pipeline_place *place, sw_error *error);
/* Compares the open step's calls with what the last stage says at its end. */
sw_status pipeline_compare_calls(sw_pipeline *pipeline, sw_error *error);

/* Nothing that this stage is expected to pull is needed any more. As far as the endpoint can be reached. */
void pipeline_release_all(sw_pipeline *pipeline);

#endif
