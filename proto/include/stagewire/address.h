/* Addresses: (run, generation, stage, group, channel, kind, step, call) names an item. */
#ifndef STAGEWIRE_ADDRESS_H
#define STAGEWIRE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define SW_CHANNEL_MAX 128       /* bytes of a channel's name: A-Z a-z 0-9 . _ - / */
#define SW_RUN_ID_MAX  256       /* bytes of a run's name: UTF-8 */
#define SW_STEP_MAX    INT64_MAX /* the largest step */

/* All zero means: whatever run, current generation, the only stage that has the channel, group 0, step 0,
 * call 0. Strings are borrowed from the caller for the duration of a call. */
typedef struct sw_address {
    const char *run_id;  /* NULL or "": whatever run the endpoint serves */
    uint64_t generation; /* from 1; 0: the current one */
    bool has_stage;
    uint32_t stage; /* whose value; read only where has_stage */
    uint32_t group; /* one per (data, tensor, context)-parallel coordinate */
    const char *channel;
    uint64_t step; /* to SW_STEP_MAX */
    uint32_t call; /* n-th publication of the channel within the step, from 0 */
} sw_address;

/* Metrics, tensors and objects of one name are separate channels. Numbers are the wire's. */
typedef enum sw_item_kind {
    SW_METRICS = 1,
    SW_TENSORS = 2,
    SW_OBJECT = 3,
} sw_item_kind;

typedef enum sw_close_reason {
    SW_CLOSE_FINISHED = 1,
    SW_CLOSE_ABORTED = 2,
    SW_CLOSE_PUBLISHER_LOST = 3, /* said by endpoints only */
    SW_CLOSE_SUPERSEDED = 4,     /* said by endpoints only */
} sw_close_reason;

/* How a channel is kept. The first declaration of a channel in a generation stands. */
typedef struct sw_channel_policy {
    const char *channel;
    sw_item_kind kind;
    uint32_t keep_steps;          /* kept for observers; 0: the endpoint's default */
    const char *const *consumers; /* ids that must release a step before it may go */
    uint32_t consumer_count;
    uint32_t max_lag_steps; /* a consumer further behind is dropped; 0: the endpoint's default */
    uint64_t next_step;     /* steps below were published before this endpoint began */
} sw_channel_policy;

/* A lease of (stage, group): what a trainer holds open while it lives. */
typedef struct sw_attachment {
    const char *run_id;
    uint64_t generation; /* 0: the current one, or 1 */
    uint32_t stage;
    uint32_t stage_count;
    uint32_t group;
    const sw_channel_policy *policies;
    uint32_t policy_count;
} sw_attachment;

#endif
