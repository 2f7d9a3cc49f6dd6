#include "tests/fault/facts.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fault/part.h"

void facts_init(struct facts *facts, uint64_t seed) {
    *facts = (struct facts){.seed = seed, .epoch = 1};
}

void facts_destroy(struct facts *facts) {
    while (facts->generations) {
        struct generation_facts *generation = facts->generations;
        facts->generations = generation->next;
        for (unsigned i = 0; i < 2; i++) free(generation->channels[i].known);
        free(generation->met);
        free(generation);
    }
}

struct generation_facts *facts_generation(struct facts *facts, uint64_t number) {
    struct generation_facts *generation = facts->generations;
    while (generation && generation->number != number) generation = generation->next;
    if (generation) return generation;
    generation = calloc(1, sizeof *generation);
    if (!generation) abort();
    generation->number = number;
    generation->next = facts->generations;
    facts->generations = generation;
    return generation;
}

struct channel_facts *facts_channel(struct facts *facts, sw_item_kind kind, uint64_t generation) {
    return &facts_generation(facts, generation)->channels[kind == SW_TENSORS];
}

uint64_t place_of(uint64_t step, uint32_t call) {
    return step * CALLS_MAX + call;
}

static void *grow(void *array, size_t *capacity, size_t wanted, size_t size) {
    if (wanted < *capacity) return array;
    size_t grown = 2 * wanted + 64;
    uint8_t *moved = realloc(array, grown * size);
    if (!moved) abort();
    memset(moved + *capacity * size, 0, (grown - *capacity) * size);
    *capacity = grown;
    return moved;
}

static struct known *known_at(struct channel_facts *channel, const sw_address *at) {
    size_t place = place_of(at->step, at->call);
    channel->known = grow(channel->known, &channel->capacity, place, sizeof *channel->known);
    return &channel->known[place];
}

const struct known *facts_known(struct facts *facts, sw_item_kind kind, const sw_address *at) {
    return known_at(facts_channel(facts, kind, at->generation), at);
}

uint32_t *facts_met(struct facts *facts, uint64_t number, uint64_t meeting) {
    struct generation_facts *generation = facts_generation(facts, number);
    generation->met = grow(generation->met, &generation->met_capacity, meeting, sizeof *generation->met);
    return &generation->met[meeting];
}

/* ---- what happens ---- */

/* A consumer is behind by the steps after the oldest that it has not released; some numbers may be skipped,
 * so that this is the most that it can be. */
static void look_for_lag(struct channel_facts *channel) {
    for (unsigned i = 0; i < CONSUMERS; i++) {
        struct consumer_facts *consumer = &channel->consumers[i];
        uint64_t from = consumer->released > channel->base ? consumer->released : channel->base;
        if (channel->latest >= from + MAX_LAG_STEPS) consumer->may_be_dropped = true;
    }
}

void facts_publish_begins(struct facts *facts, sw_item_kind kind, const sw_address *at) {
    struct channel_facts *channel = facts_channel(facts, kind, at->generation);
    struct known *known = known_at(channel, at);
    if (known->begun) return;
    known->begun = facts->epoch;
    if (channel->latest == 0) channel->base = at->step;
    if (channel->first == 0) channel->first = at->step;
    channel->latest = at->step;
    look_for_lag(channel);
}

void facts_published(struct facts *facts, sw_item_kind kind, const sw_address *at, int64_t now_ms) {
    struct channel_facts *channel = facts_channel(facts, kind, at->generation);
    struct known *known = known_at(channel, at);
    known->acked = facts->epoch;
    known->acked_ms = now_ms;
    if (facts_is_there(facts, known) && !truth_fails(facts->seed, kind, at))
        channel->acked = place_of(at->step, at->call);
}

void facts_endpoint_ends(struct facts *facts) {
    facts->epoch++;
    for (struct generation_facts *each = facts->generations; each; each = each->next) {
        each->is_unprotected = each->number == 1;
        for (unsigned i = 0; i < 2; i++) {
            struct channel_facts *channel = &each->channels[i];
            channel->base = channel->latest;
            channel->first = 0;
            channel->acked = 0;
            for (unsigned j = 0; j < CONSUMERS; j++) {
                channel->consumers[j].may_be_dropped = false;
                channel->consumers[j].released = channel->consumers[j].may_be_released = 0;
            }
        }
    }
}

void facts_stage_ends(struct facts *facts, unsigned stage) {
    for (struct generation_facts *each = facts->generations; each; each = each->next)
        for (unsigned i = 0; i < 2; i++) each->channels[i].consumers[stage].arrived = 0;
}

bool facts_is_there(const struct facts *facts, const struct known *known) {
    return known->begun == facts->epoch && known->acked == facts->epoch;
}

bool facts_may_be_lost(const struct facts *facts, const struct known *known) {
    return known->begun > 0 && known->begun < facts->epoch;
}
