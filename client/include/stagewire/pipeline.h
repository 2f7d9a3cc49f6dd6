/* The four operations that trainers know from NeMo RL's pipeline_parallel module, by name and deadline
 * instead of a collective.
 *
 * A pipeline is one rank's view of one (data, tensor, context)-parallel group: stage `stage` of
 * `stage_count`. The last stage publishes at its own endpoint (in the process, or a sidecar) and goes on; the
 * others pull from it. All its functions are called from one thread at a time. The timeout of an operation is
 * `timeout_ms`; then DEADLINE_EXCEEDED names stage, address and what was there instead.
 *
 * Every call counts, whatever becomes of it, so that the n-th call of one rank meets the n-th of another even
 * after one of them failed. Where the last stage cannot publish its value, for whatever reason, it publishes
 * that as a failure in its place: the others get STEP_FAILED at once, its words under `message`, and the next
 * call works.
 *
 * The other stages are consumers "stage-0", "stage-1", … of every channel that the last stage uses: what they
 * have yet to pull is held for them. What arrived is released with the next pull of the channel. One that is
 * more than max_lag_steps behind is dropped, and its next pull is EVICTED and says so. */
#ifndef STAGEWIRE_PIPELINE_H
#define STAGEWIRE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/client.h>
#include <stagewire/export.h>
#include <stagewire/publisher.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_pipeline sw_pipeline;

typedef struct sw_pipeline_options {
    size_t size; /* set by sw_pipeline_options_init */
    const char *run_id;
    uint64_t generation; /* from 1: the launcher's restart count plus one */
    uint32_t group;
    uint32_t stage, stage_count;
    /* The last stage: where it publishes (required). With one stage: optional; set, metrics are still
     * published for those who watch. */
    sw_publisher *publisher;
    /* Every stage of several: the last stage's endpoint, as a client of it names it. */
    const char *last_stage_endpoint;
    int64_t timeout_ms;        /* 600,000 */
    int64_t endpoint_grace_ms; /* 30,000 */
    uint32_t max_lag_steps;    /* of the other stages as consumers: 64 */
    /* To last_stage_endpoint: as in sw_client_options. */
    const char *tls_key, *tls_cert, *tls_ca, *tls_crl, *peer_identity;
} sw_pipeline_options;

/* Fills in the defaults, and the size that the program knows: options are added at the end only, so that a
 * program runs with a newer library without being built anew. */
SW_API void sw_pipeline_options_init_sized(sw_pipeline_options *options, size_t size);
static inline void sw_pipeline_options_init(sw_pipeline_options *options) {
    sw_pipeline_options_init_sized(options, sizeof *options);
}

/* Attaches (stage, group) at the own and at the last stage's endpoint and waits until they are reached,
 * within timeout_ms. */
SW_API sw_status sw_pipeline_open(const sw_pipeline_options *options, sw_pipeline **ret_pipeline,
                                  sw_error *error);
/* Releases everything, also what is published from now on, and ends the leases: a rank that opens its
 * pipeline again in the same generation is no consumer any more. Takes NULL. */
SW_API void sw_pipeline_close(sw_pipeline *pipeline);

/* Names the step and starts its calls at 0; operations until sw_pipeline_step_end use this channel. Without
 * it, calls are counted since sw_pipeline_open, in channels "metrics", "tensors", "objects", a step each.
 * Steps grow strictly within a channel: STEP_WENT_BACK; FAILED_PRECONDITION while another step is open.
 * `channel` NULL is "train"; it has at most 112 bytes, because the metrics channel "CHANNEL/stagewire.calls"
 * has the marker of each step's end. */
SW_API sw_status sw_pipeline_step_begin(sw_pipeline *pipeline, uint64_t step, const char *channel,
                                        sw_error *error);
/* The end, for which the others wait until the last stage has come to it, too: OUT_OF_STEP, with both
 * numbers, for a rank whose calls differ in number from the last stage's, and for one whose step the last
 * stage left out. So does an operation within the step answer that the last stage never made. With `failure`
 * set the step failed here: on the last stage what the others still wait for in that step, its end included,
 * is published as a failure with this message. Whatever it returns, the step is over. */
SW_API sw_status sw_pipeline_step_end(sw_pipeline *pipeline, const char *failure, sw_error *error);

/* broadcast_obj_from_pp_rank: `value` NULL means "not mine". Exactly one stage has it, and all get it.
 * INVALID_ARGUMENT "Object must exist on at least one PP rank" or "Object present on multiple PP ranks: [0,
 * 2]", on every rank. The owner gets its own back: sw_object_value is the pointer that it passed, and must
 * outlive the object. With one stage that is all that happens, and NULL is fine. */
SW_API sw_status sw_pipeline_broadcast_obj_from_pp_rank(sw_pipeline *pipeline, const sw_value *value,
                                                        sw_object **ret_object, sw_error *error);

typedef struct sw_materialized sw_materialized;

/* _materialize_loss_metrics_for_object_broadcast: a copy in which a tensor with one element is the scalar of
 * its own kind (integer types an integer, BOOL a bool, floating types a number); any other value stays as it
 * is. Only the dict's own values are looked at. U64 beyond int64 is an Extension "py.int". Complex scalars
 * stay tensors. The copy borrows from `metrics`; free it with sw_materialized_destroy. */
SW_API sw_status sw_pipeline_materialize_loss_metrics_for_object_broadcast(const sw_value *metrics,
                                                                           sw_materialized **ret_copy,
                                                                           sw_error *error);
SW_API const sw_value *sw_materialized_value(const sw_materialized *copy);
SW_API void sw_materialized_destroy(sw_materialized *copy); /* takes NULL */

/* broadcast_loss_metrics_from_last_stage: the last stage passes a dict or a list of dicts, the others' is
 * ignored. Each gets the payload in the same shape, the last stage a copy of what was sent, materialised.
 * With one stage sw_metrics_value is the very pointer that was passed, and the materialised copy is published
 * where there is a publisher. NULL on the last stage: INVALID_ARGUMENT "Last PP stage must provide loss
 * metrics.", which the others get as STEP_FAILED at once. STORE_FULL, retried until the timeout, names who
 * lags. The last stage may pass NULL for ret_metrics, where it has no use for the copy. */
SW_API sw_status sw_pipeline_broadcast_loss_metrics_from_last_stage(sw_pipeline *pipeline,
                                                                    const sw_value *metrics,
                                                                    sw_metrics **ret_metrics,
                                                                    sw_error *error);

/* broadcast_tensors_from_last_stage: the last stage passes every tensor (`tensors`, with bytes), the others
 * name them (`requests`, with memory to fill or none). A tensor without bytes on the last stage:
 * INVALID_ARGUMENT "Last PP stage must provide tensor 'NAME' for broadcast.", which the others get as
 * STEP_FAILED. On the last stage *ret_tensors is NULL: it has its own. */
SW_API sw_status sw_pipeline_broadcast_tensors_from_last_stage(sw_pipeline *pipeline,
                                                               const sw_named_tensor *tensors,
                                                               const sw_tensor_request *requests,
                                                               uint32_t count, sw_tensors **ret_tensors,
                                                               sw_error *error);

/* For bindings, whose values may have no plain form: the next call of this kind failed on this stage before
 * it could be made, as `message` says. It counts, and on the last stage the others get the message as
 * STEP_FAILED. */
SW_API sw_status sw_pipeline_call_failed(sw_pipeline *pipeline, sw_item_kind kind, const char *message,
                                         sw_error *error);

/* The generation that the lease stands in. */
SW_API uint64_t sw_pipeline_generation(const sw_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
