#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/pipeline/internal.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"
#include "proto/base/sized.h"

#define CONSUMER_MAX          sizeof "stage-4294967295"
#define DEFAULT_TIMEOUT_MS    SW_TIMEOUT_DEFAULT_MS
#define DEFAULT_GRACE_MS      30000
#define DEFAULT_MAX_LAG_STEPS 64

void sw_pipeline_options_init_sized(sw_pipeline_options *options, size_t size) {
    const sw_pipeline_options defaults = {
        .generation = 1,
        .stage_count = 1,
        .timeout_ms = DEFAULT_TIMEOUT_MS,
        .endpoint_grace_ms = DEFAULT_GRACE_MS,
        .max_lag_steps = DEFAULT_MAX_LAG_STEPS,
    };
    sized_init(options, size, &defaults, sizeof defaults);
}

static sw_status wrong_option(sw_error *error, const char *what) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "sw_pipeline_open: %s", what);
}

static sw_status check_options(const sw_pipeline_options *options, sw_error *error) {
    bool several = options->stage_count > 1;
    if (options->stage >= options->stage_count)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "sw_pipeline_open: stage %" PRIu32 " is not below stage_count, %" PRIu32,
                              options->stage, options->stage_count);
    if (several && options->stage == options->stage_count - 1 && !options->publisher)
        return wrong_option(error, "the last stage needs a publisher, to publish to the others");
    if (several && !options->last_stage_endpoint)
        return wrong_option(error, "several stages need last_stage_endpoint, where they meet");
    if (options->timeout_ms <= 0) return wrong_option(error, "timeout_ms must be more than 0");
    if (options->endpoint_grace_ms <= 0) return wrong_option(error, "endpoint_grace_ms must be more than 0");
    return SW_OK;
}

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for a pipeline");
}

static sw_status name_consumers(sw_pipeline *pipeline, sw_error *error) {
    pipeline->consumers = calloc(pipeline->stage_count, sizeof *pipeline->consumers);
    if (!pipeline->consumers) return no_memory(error);
    for (uint32_t stage = 0; stage < pipeline_last(pipeline); stage++) {
        char *name = pipeline->consumers[stage] = malloc(CONSUMER_MAX);
        if (!name) return no_memory(error);
        snprintf(name, CONSUMER_MAX, "stage-%" PRIu32, stage);
    }
    return SW_OK;
}

static sw_status connect_to_last(sw_pipeline *pipeline, const sw_pipeline_options *options, sw_error *error) {
    if (pipeline_is_single(pipeline)) return SW_OK;
    sw_client_options client;
    sw_client_options_init(&client);
    client.run_id = pipeline->run_id;
    client.consumer_id = pipeline->consumers[pipeline->stage]; /* NULL for the last: it pulls nothing */
    client.timeout_ms = pipeline->timeout_ms;
    client.endpoint_grace_ms = options->endpoint_grace_ms;
    client.tls_key = options->tls_key;
    client.tls_cert = options->tls_cert;
    client.tls_ca = options->tls_ca;
    client.tls_crl = options->tls_crl;
    client.peer_identity = options->peer_identity;
    return sw_client_open(options->last_stage_endpoint, &client, &pipeline->client, error);
}

/* At the own endpoint, where there is one, and at the last stage's. */
static sw_status attach(sw_pipeline *pipeline, uint64_t generation, sw_error *error) {
    int64_t deadline = clock_after(clock_now_ms(&clock_system), pipeline->timeout_ms);
    sw_attachment attachment = {.run_id = pipeline->run_id,
                                .generation = generation,
                                .stage = pipeline->stage,
                                .stage_count = pipeline->stage_count,
                                .group = pipeline->group};
    sw_status status = SW_OK;
    if (pipeline->publisher)
        status = sw_attach(pipeline->publisher, &attachment, pipeline->timeout_ms, &pipeline->own_lease,
                           &pipeline->generation, error);
    if (status != SW_OK || pipeline_is_last(pipeline)) return status;
    int64_t left = deadline - clock_now_ms(&clock_system);
    return sw_attach(sw_client_publisher(pipeline->client), &attachment, left > 1 ? left : 1,
                     &pipeline->last_lease, &pipeline->generation, error);
}

static sw_status open_pipeline(const sw_pipeline_options *options, sw_pipeline **ret_pipeline,
                               sw_error *error) {
    sw_status status = check_options(options, error);
    if (status != SW_OK) return status;
    sw_pipeline *pipeline = calloc(1, sizeof *pipeline);
    if (!pipeline) return no_memory(error);
    pipeline->generation = options->generation;
    pipeline->group = options->group;
    pipeline->stage = options->stage;
    pipeline->stage_count = options->stage_count;
    pipeline->max_lag_steps = options->max_lag_steps;
    pipeline->timeout_ms = options->timeout_ms;
    pipeline->publisher = options->publisher;
    pipeline->run_id = options->run_id ? strdup(options->run_id) : NULL;
    status = options->run_id && !pipeline->run_id ? no_memory(error) : SW_OK;
    if (status == SW_OK) status = name_consumers(pipeline, error);
    if (status == SW_OK) status = connect_to_last(pipeline, options, error);
    if (status == SW_OK) status = attach(pipeline, options->generation, error);
    if (status == SW_OK)
        *ret_pipeline = pipeline;
    else
        sw_pipeline_close(pipeline);
    return status;
}

sw_status sw_pipeline_open(const sw_pipeline_options *options, sw_pipeline **ret_pipeline, sw_error *error) {
    sw_pipeline_options known;
    sw_pipeline_options_init(&known);
    sw_status status = sized_read(options, &known, sizeof known, "sw_pipeline_options_init", error);
    return status == SW_OK ? open_pipeline(&known, ret_pipeline, error) : status;
}

static void free_all(sw_pipeline *pipeline) {
    for (uint32_t stage = 0; pipeline->consumers && stage < pipeline->stage_count; stage++)
        free(pipeline->consumers[stage]);
    free(pipeline->consumers);
    free(pipeline->policies);
    while (pipeline->channels) {
        struct pipeline_channel *channel = pipeline->channels;
        pipeline->channels = channel->next;
        free(channel);
    }
    free(pipeline->run_id);
    free(pipeline);
}

void sw_pipeline_close(sw_pipeline *pipeline) {
    if (!pipeline) return;
    if (pipeline->client && !pipeline_is_last(pipeline)) pipeline_release_all(pipeline);
    sw_lease_release(pipeline->last_lease);
    sw_lease_release(pipeline->own_lease);
    sw_client_close(pipeline->client);
    free_all(pipeline);
}

uint64_t sw_pipeline_generation(const sw_pipeline *pipeline) {
    return pipeline->generation;
}
