#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fault/part.h"

struct stage {
    const struct part *part;
    struct witness witness;
    sw_client *consumer, *observer;
    sw_lease *lease;
    struct speaker speaker;
    uint64_t generation, dice;
};

enum { CONCLUSIVE, AGAIN, SUPERSEDED };

static int verdict_of(sw_status status, const sw_error *error, uint64_t *generation) {
    if (status == SW_OK) return CONCLUSIVE;
    switch (error->reason) {
    case SW_REASON_SUPERSEDED: {
        const char *newer = sw_error_metadata(error, "generation");
        *generation = newer ? strtoull(newer, NULL, 10) : *generation + 1;
        return SUPERSEDED;
    }
    case SW_REASON_STEP_FAILED:
    case SW_REASON_EVICTED:
    case SW_REASON_SKIPPED:
        return CONCLUSIVE;
    default:
        return AGAIN;
    }
}

static sw_pull pull_of(const struct stage *stage, sw_item_kind kind, uint64_t step, uint32_t call) {
    return (sw_pull){.address = {.generation = stage->generation,
                                 .has_stage = true,
                                 .stage = LAST_STAGE,
                                 .channel = kind == SW_METRICS ? METRICS : TENSORS,
                                 .step = step,
                                 .call = call},
                     .timeout_ms = CALL_MS};
}

static bool message_matches(const struct stage *stage, sw_item_kind kind, const sw_address *at,
                            const sw_error *error) {
    char wanted[64];
    const char *message = sw_error_metadata(error, "message");
    truth_message(stage->part->seed, kind, at, wanted);
    return error->reason == SW_REASON_STEP_FAILED && message && strcmp(message, wanted) == 0;
}

/* The address that came is the one that was asked for, or with `latest` becomes it. */
static bool address_matches(sw_pull *pull, const sw_address *came) {
    if (pull->latest) {
        pull->address.step = came->step;
        pull->address.call = came->call;
    }
    return came->generation == pull->address.generation && came->step == pull->address.step &&
           came->call == pull->address.call;
}

static sw_status get_metrics(struct stage *stage, sw_client *client, sw_pull *pull, bool *ret_right,
                             sw_error *error) {
    sw_metrics *metrics;
    sw_status status = sw_client_get_metrics(client, pull, &metrics, error);
    if (status != SW_OK) return status;
    *ret_right = address_matches(pull, sw_metrics_address(metrics)) &&
                 truth_metrics_match(stage->part->seed, &pull->address, sw_metrics_value(metrics));
    sw_metrics_destroy(metrics);
    return SW_OK;
}

/* All of them, or one by name. */
static sw_status get_tensors(struct stage *stage, sw_client *client, sw_pull *pull, bool *ret_right,
                             sw_error *error) {
    sw_tensors *tensors;
    const sw_tensor_request one = {.name = "body"};
    bool all = stage->dice % 4 != 0;
    sw_status status = sw_client_get_tensors(client, pull, all ? NULL : &one, all ? 0 : 1, &tensors, error);
    if (status != SW_OK) return status;
    *ret_right = address_matches(pull, sw_tensors_address(tensors)) &&
                 sw_tensors_count(tensors) == (all ? 2 : 1) &&
                 truth_tensors_match(stage->part->seed, &pull->address, tensors);
    sw_tensors_destroy(tensors);
    return SW_OK;
}

static int pull_once(struct stage *stage, enum what what, sw_client *client, sw_item_kind kind,
                     sw_pull *pull) {
    sw_error error = {0};
    bool right = false;
    witness_begin(&stage->witness, what, kind, &pull->address, CALL_MS);
    sw_status status = kind == SW_METRICS ? get_metrics(stage, client, pull, &right, &error)
                                          : get_tensors(stage, client, pull, &right, &error);
    if (status != SW_OK) right = message_matches(stage, kind, &pull->address, &error);
    witness_end(&stage->witness, what, kind, &pull->address, status, &error, right);
    return verdict_of(status, &error, &stage->generation);
}

/* ---- a step ---- */

/* False: on to a newer generation, or over. */
static bool pull_needed(struct stage *stage, sw_item_kind kind, uint64_t step) {
    unsigned calls = truth_calls(stage->part->seed, kind, stage->generation, step);
    for (uint32_t call = 0; call < (calls ? calls : 1); call++) {
        int verdict;
        do {
            sw_pull pull = pull_of(stage, kind, step, call);
            verdict = pull_once(stage, SAW_PULL, stage->consumer, kind, &pull);
            if (part_is_over(stage->part, stage->generation, step)) return false;
        } while (verdict == AGAIN);
        if (verdict == SUPERSEDED) return false;
    }
    return true;
}

static void look(struct stage *stage, uint64_t step) {
    sw_item_kind kind = stage->dice & 16 ? SW_METRICS : SW_TENSORS;
    sw_pull pull = pull_of(stage, kind, step - (stage->dice >> 5) % step, 0);
    pull_once(stage, SAW_LOOK, stage->observer, kind, &pull);
}

static void look_at_latest(struct stage *stage) {
    sw_item_kind kind = stage->dice & 16 ? SW_METRICS : SW_TENSORS;
    sw_pull pull = pull_of(stage, kind, 0, 0);
    pull.latest = pull.no_wait = true;
    pull_once(stage, SAW_LATEST, stage->observer, kind, &pull);
}

static void release(struct stage *stage, uint64_t step) {
    sw_error error;
    sw_item_kind kind = stage->dice & 16 ? SW_METRICS : SW_TENSORS;
    sw_address address = pull_of(stage, kind, step + 1, 0).address;
    witness_begin(&stage->witness, SAW_RELEASE, kind, &address, CALL_MS);
    sw_status status = sw_client_release(stage->consumer, &address, kind, address.step, CALL_MS, &error);
    witness_end(&stage->witness, SAW_RELEASE, kind, &address, status, &error, true);
}

static void do_something_else(struct stage *stage, uint64_t step) {
    switch (stage->dice % 16) {
    case 0:
    case 1:
        look(stage, step);
        break;
    case 2:
    case 3:
        look_at_latest(stage);
        break;
    case 4:
        release(stage, step);
        break;
    default:
        break;
    }
}

/* ---- the lease ---- */

static bool take_lease(struct stage *stage) {
    sw_error error;
    sw_lease_release(stage->lease);
    stage->lease = NULL;
    sw_attachment attachment = {
        .generation = stage->generation, .stage = stage->part->stage, .stage_count = STAGES};
    sw_address at = {.generation = stage->generation};
    while (!stage->lease && !atomic_load(&stage->part->control->stops)) {
        witness_begin(&stage->witness, SAW_ATTACH, 0, &at, CALL_MS);
        sw_status status = sw_attach(sw_client_publisher(stage->consumer), &attachment, CALL_MS,
                                     &stage->lease, NULL, &error);
        witness_end(&stage->witness, SAW_ATTACH, 0, &at, status, &error, true);
        if (status != SW_OK && error.reason == SW_REASON_STALE_GENERATION) return false;
    }
    return true;
}

/* Steps from `step` on, as long as the generation is the current one. */
static void live_in_generation(struct stage *stage, uint64_t step) {
    uint64_t generation = stage->generation;
    atomic_store(&stage->speaker.generation, generation);
    if (!take_lease(stage)) {
        stage->generation++;
        return;
    }
    for (; !part_is_over(stage->part, generation, step); step++) {
        stage->dice = truth_mix(stage->part->seed, generation, step, 500 + stage->part->stage);
        if (!pull_needed(stage, SW_METRICS, step) || !pull_needed(stage, SW_TENSORS, step)) break;
        do_something_else(stage, step);
        if (stage->generation != generation) break;
        tick(stage->part->ticks);
        if (step % 3 == 0) tick(stage->speaker.ticks);
    }
}

static void live(struct stage *stage) {
    uint64_t step = stage->part->step;
    for (;;) {
        uint64_t generation = stage->generation;
        live_in_generation(stage, step);
        if (stage->generation == generation) break;
        step = 1;
    }
    while (!atomic_load(&stage->part->control->stops)) {
        tick(stage->speaker.ticks);
        tick_wait(stage->part->ticks, 20);
    }
}

void *stage_play(void *argument) {
    const struct part *part = argument;
    char id[32];
    snprintf(id, sizeof id, "stage-%u", part->stage);
    struct stage stage = {.part = part,
                          .witness = part_witness(part, PULLER_0 + part->stage),
                          .consumer = part_client(part, id),
                          .observer = part_client(part, NULL),
                          .generation = part->generation};
    stage.speaker = (struct speaker){.part = part,
                                     .client = stage.consumer,
                                     .stage = part->stage,
                                     .ticks = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                     .generation = part->generation,
                                     .first_meeting = part->meeting};
    pthread_t thread;
    if (pthread_create(&thread, NULL, speaker_play, &stage.speaker) != 0) abort();
    live(&stage);
    pthread_join(thread, NULL);
    close(stage.speaker.ticks);
    sw_lease_release(stage.lease);
    sw_client_close(stage.observer);
    sw_client_close(stage.consumer);
    return NULL;
}
