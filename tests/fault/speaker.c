#include <stdio.h>
#include <stdlib.h>

#include "tests/fault/part.h"

static sw_status speak(struct speaker *speaker, uint64_t generation, uint64_t meeting, sw_error *error) {
    const struct part *part = speaker->part;
    struct witness witness = part_witness(part, SPEAKER_0 + speaker->stage);
    char text[64];
    truth_object(part->seed, generation, meeting, speaker->stage, text);
    const sw_value value = sw_text(text);
    bool has = truth_owners(part->seed, generation, meeting) >> speaker->stage & 1;
    sw_exchange exchange = {.address = {.generation = generation,
                                        .has_stage = true,
                                        .stage = speaker->stage,
                                        .channel = OBJECTS,
                                        .step = meeting},
                            .stage_count = STAGES,
                            .value = has ? &value : NULL,
                            .timeout_ms = CALL_MS};
    sw_object *object = NULL;
    witness_begin(&witness, SAW_EXCHANGE, SW_OBJECT, &exchange.address, CALL_MS);
    sw_status status = sw_client_exchange(speaker->client, &exchange, &object, error);
    bool right = status == SW_OK && truth_object_match(part->seed, generation, meeting, object);
    witness_end(&witness, SAW_EXCHANGE, SW_OBJECT, &exchange.address, status, error, right);
    sw_object_destroy(object);
    return status;
}

/* A word stays, whatever becomes of the wait: so the next meeting is the next one, and all get there. */
void *speaker_play(void *argument) {
    struct speaker *speaker = argument;
    uint64_t generation = atomic_load(&speaker->generation), meeting = speaker->first_meeting - 1;
    while (!atomic_load(&speaker->part->control->stops)) {
        uint64_t current = atomic_load(&speaker->generation);
        if (current > generation) {
            generation = current;
            meeting = 0;
        }
        sw_error error;
        sw_status status = speak(speaker, generation, ++meeting, &error);
        bool is_over = status != SW_OK && error.reason == SW_REASON_SUPERSEDED;
        tick_wait(speaker->ticks, is_over ? 100 : 500);
    }
    return NULL;
}
