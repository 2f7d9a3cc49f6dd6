#include "tests/support/cast.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#define RUN_ID "run"

void cast_init(struct cast *cast, uint32_t stages, bool sidecar) {
    memset(cast, 0, sizeof *cast);
    cast->stages = stages;
    cast->sidecar = sidecar;
    sw_pipeline_options_init(&cast->options);
    cast->options.run_id = RUN_ID;
    cast->options.stage_count = stages;
    cast->options.timeout_ms = 10000;
}

static void start_sidecar(struct cast *cast) {
    char stage[16], stages[16], store[32], grace[32];
    snprintf(stage, sizeof stage, "%" PRIu32, cast_last(cast));
    snprintf(stages, sizeof stages, "%" PRIu32, cast->stages);
    snprintf(store, sizeof store, "%" PRIu64, cast->store_bytes);
    snprintf(grace, sizeof grace, "%" PRId64 "ms", cast->publisher_grace_ms);
    cast->daemon = daemon_start((const char *const[]){
        "--listen", "127.0.0.1:0", "--publish-on-loopback", "--run-id", RUN_ID, "--stage", stage, "--stages",
        stages, "--store-bytes", store, "--publisher-grace", grace, NULL});
    cr_assert_not_null(cast->daemon);
    snprintf(cast->target, sizeof cast->target, "%s", daemon_target(cast->daemon, 0));
    sw_client_options options;
    sw_client_options_init(&options);
    cr_assert_eq(sw_client_open(cast->target, &options, &cast->beside, NULL), SW_OK);
}

static void start_endpoint(struct cast *cast) {
    sw_error error;
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.listen = (const char *const[]){"127.0.0.1:0"};
    options.listen_count = 1;
    options.run_id = RUN_ID;
    options.stage = cast_last(cast);
    options.stage_count = cast->stages;
    options.store_bytes = cast->store_bytes;
    options.publisher_grace_ms = cast->publisher_grace_ms;
    cr_assert_eq(sw_endpoint_open(&options, &cast->endpoint, &error), SW_OK, "%s", error.message);
    snprintf(cast->target, sizeof cast->target, "%s", sw_endpoint_address(cast->endpoint, 0));
}

sw_publisher *cast_publisher(struct cast *cast) {
    return cast->sidecar ? sw_client_publisher(cast->beside) : sw_endpoint_publisher(cast->endpoint);
}

sw_status cast_enter(struct cast *cast, uint32_t stage, uint64_t generation, sw_error *error) {
    sw_pipeline_options options = cast->options;
    options.stage = stage;
    options.generation = generation;
    options.publisher = stage == cast_last(cast) ? cast_publisher(cast) : NULL;
    options.last_stage_endpoint = cast->target;
    return sw_pipeline_open(&options, &cast->pipeline[stage], error);
}

void cast_open(struct cast *cast) {
    if (!cast->store_bytes) cast->store_bytes = 64 << 20;
    if (!cast->publisher_grace_ms) cast->publisher_grace_ms = 30000;
    if (cast->sidecar)
        start_sidecar(cast);
    else
        start_endpoint(cast);
    for (uint32_t i = cast->stages; i-- > 0;) {
        sw_error error;
        cr_assert_eq(cast_enter(cast, i, cast->options.generation, &error), SW_OK, "stage %u: %s", i,
                     error.message);
    }
}

void cast_leave(struct cast *cast, uint32_t stage) {
    sw_pipeline_close(cast->pipeline[stage]);
    cast->pipeline[stage] = NULL;
}

static void clear(struct cast_outcome *outcome) {
    sw_metrics_destroy(outcome->metrics);
    sw_tensors_destroy(outcome->tensors);
    sw_object_destroy(outcome->object);
    memset(outcome, 0, sizeof *outcome);
}

void cast_close(struct cast *cast) {
    for (uint32_t i = 0; i < cast->stages; i++) {
        clear(&cast->outcome[i]);
        cast_leave(cast, i);
    }
    sw_client_close(cast->beside);
    sw_endpoint_close(cast->endpoint, 0);
    daemon_destroy(cast->daemon);
}

struct player {
    pthread_t thread;
    struct cast *cast;
    uint32_t stage;
    cast_part *part;
};

static void *perform(void *argument) {
    struct player *player = argument;
    player->part(player->cast, player->stage, &player->cast->outcome[player->stage]);
    return NULL;
}

void cast_play(struct cast *cast, cast_part *part) {
    struct player players[CAST_STAGES];
    for (uint32_t i = 0; i < cast->stages; i++) {
        clear(&cast->outcome[i]);
        players[i] = (struct player){.cast = cast, .stage = i, .part = part};
        cr_assert_eq(pthread_create(&players[i].thread, NULL, perform, &players[i]), 0);
    }
    for (uint32_t i = 0; i < cast->stages; i++) pthread_join(players[i].thread, NULL);
}

struct cast_outcome *cast_solo(struct cast *cast, uint32_t stage, cast_part *part) {
    clear(&cast->outcome[stage]);
    part(cast, stage, &cast->outcome[stage]);
    return &cast->outcome[stage];
}
