#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fault/part.h"

struct trainer {
    const struct part *part;
    struct witness witness;
    sw_client *client;
    sw_lease *lease;
    struct speaker speaker;
    uint64_t generation;
};

/* ---- a generation ---- */

static const char *const consumers[CONSUMERS] = {"stage-0", "stage-1", "stage-2"};

static sw_status attach_once(struct trainer *trainer) {
    sw_error error;
    const sw_channel_policy policies[2] = {
        {.channel = METRICS,
         .kind = SW_METRICS,
         .consumers = consumers,
         .consumer_count = CONSUMERS,
         .keep_steps = KEEP_STEPS,
         .max_lag_steps = MAX_LAG_STEPS},
        {.channel = TENSORS,
         .kind = SW_TENSORS,
         .consumers = consumers,
         .consumer_count = CONSUMERS,
         .max_lag_steps = MAX_LAG_STEPS},
    };
    sw_attachment attachment = {.generation = trainer->generation,
                                .stage = LAST_STAGE,
                                .stage_count = STAGES,
                                .policies = policies,
                                .policy_count = 2};
    sw_address at = {.generation = trainer->generation};
    witness_begin(&trainer->witness, SAW_ATTACH, 0, &at, CALL_MS);
    sw_status status =
        sw_attach(sw_client_publisher(trainer->client), &attachment, CALL_MS, &trainer->lease, NULL, &error);
    witness_end(&trainer->witness, SAW_ATTACH, 0, &at, status, &error, true);
    return status;
}

static bool is_over(const struct trainer *trainer) {
    return atomic_load(&trainer->part->control->stops);
}

static bool is_replaced(const struct trainer *trainer) {
    return is_over(trainer) || atomic_load(&trainer->part->control->wanted_generation) > trainer->generation;
}

/* ---- publishing ---- */

static sw_status publish_once(struct trainer *trainer, sw_item_kind kind, const sw_address *at,
                              sw_error *error) {
    uint64_t seed = trainer->part->seed;
    sw_publisher *publisher = sw_client_publisher(trainer->client);
    if (truth_fails(seed, kind, at)) {
        char message[64];
        truth_message(seed, kind, at, message);
        return sw_publish_failure(publisher, at, kind, message, CALL_MS, NULL, error);
    }
    if (kind == SW_METRICS) {
        struct truth_metrics metrics;
        truth_metrics(seed, at, &metrics);
        return sw_publish_metrics(publisher, at, &metrics.value, CALL_MS, NULL, error);
    }
    struct truth_tensors tensors;
    truth_tensors(seed, at, &tensors);
    sw_status status = sw_publish_tensors(publisher, at, tensors.tensors, 2, CALL_MS, NULL, error);
    truth_tensors_free(&tensors);
    return status;
}

/* Again until it is there: what a trainer does who must not lose a step. */
static bool publish(struct trainer *trainer, sw_item_kind kind, uint64_t step, uint32_t call) {
    sw_address at = {.generation = trainer->generation,
                     .channel = kind == SW_METRICS ? METRICS : TENSORS,
                     .step = step,
                     .call = call};
    while (!is_replaced(trainer)) {
        sw_error error;
        witness_begin(&trainer->witness, SAW_PUBLISH, kind, &at, CALL_MS);
        sw_status status = publish_once(trainer, kind, &at, &error);
        witness_end(&trainer->witness, SAW_PUBLISH, kind, &at, status, &error, true);
        if (status == SW_OK) return true;
        if (error.reason == SW_REASON_NOT_ATTACHED) tick_wait(trainer->part->ticks, 10);
    }
    return false;
}

static bool publish_step(struct trainer *trainer, uint64_t step) {
    static const sw_item_kind kinds[2] = {SW_METRICS, SW_TENSORS};
    for (unsigned i = 0; i < 2; i++) {
        unsigned calls = truth_calls(trainer->part->seed, kinds[i], trainer->generation, step);
        for (uint32_t call = 0; call < calls; call++)
            if (!publish(trainer, kinds[i], step, call)) return false;
    }
    return true;
}

static void check_lease(struct trainer *trainer) {
    sw_error error;
    sw_address at = {.generation = trainer->generation};
    sw_status status = sw_lease_check(trainer->lease, &error);
    if (status != SW_OK) witness_end(&trainer->witness, SAW_LEASE, 0, &at, status, &error, true);
}

/* The last step is one that all can pull. */
static void choose_last(struct trainer *trainer, uint64_t step) {
    struct control *control = trainer->part->control;
    uint64_t seed = trainer->part->seed, last = step + 5;
    if (!atomic_load(&control->finishes) || atomic_load(&control->last_step)) return;
    while (truth_calls(seed, SW_METRICS, trainer->generation, last) == 0 ||
           truth_calls(seed, SW_TENSORS, trainer->generation, last) == 0)
        last++;
    atomic_store(&control->last_generation, trainer->generation);
    atomic_store(&control->last_step, last);
}

/* A step takes a trainer its time, and more while the stages are behind. */
static void train(struct trainer *trainer) {
    uint64_t step = 0;
    while (!is_replaced(trainer)) {
        choose_last(trainer, step);
        uint64_t last = atomic_load(&trainer->part->control->last_step);
        /* At last all wait for each step before it comes: so that it is seen whether they are woken. */
        while (last > 0 && step < last && tick_wait(trainer->part->ticks, 300)) continue;
        if ((last == 0 || step < last) && !publish_step(trainer, ++step)) break;
        check_lease(trainer);
        if (step % 3 == 0) tick(trainer->speaker.ticks);
        for (unsigned i = 0; i < CONSUMERS; i++) tick_wait(trainer->part->ticks, 12);
    }
}

static void live_in_generation(struct trainer *trainer) {
    trainer->generation = atomic_load(&trainer->part->control->wanted_generation);
    trainer->client = part_client(trainer->part, NULL);
    trainer->lease = NULL;
    while (!is_replaced(trainer) && attach_once(trainer) != SW_OK) continue;
    if (trainer->lease) {
        atomic_store(&trainer->speaker.generation, trainer->generation);
        train(trainer);
    }
    sw_lease_release(trainer->lease);
    sw_client_close(trainer->client);
}

void *trainer_play(void *argument) {
    const struct part *part = argument;
    struct trainer trainer = {.part = part, .witness = part_witness(part, TRAINER)};
    trainer.speaker = (struct speaker){.part = part,
                                       .client = part_client(part, NULL),
                                       .stage = LAST_STAGE,
                                       .ticks = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                       .generation = 1,
                                       .first_meeting = 1};
    pthread_t thread;
    if (pthread_create(&thread, NULL, speaker_play, &trainer.speaker) != 0) abort();
    while (!is_over(&trainer)) live_in_generation(&trainer);
    pthread_join(thread, NULL);
    close(trainer.speaker.ticks);
    sw_client_close(trainer.speaker.client);
    return NULL;
}
