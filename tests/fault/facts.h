/* What is known of a campaign's items: which were begun, which are there for certain, and what may have
 * become of them. Each end of the endpoint's process begins an epoch: what was begun before may be lost. */
#ifndef STAGEWIRE_TESTS_FAULT_FACTS_H
#define STAGEWIRE_TESTS_FAULT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/fault/truth.h"

struct known {
    uint32_t begun, acked; /* in which epoch; 0: not */
    int64_t acked_ms;
};

struct consumer_facts {
    uint64_t arrived;         /* the newest step that it got: released by its next pull */
    uint64_t released;        /* steps below are released for certain */
    uint64_t may_be_released; /* as far as it ever asked, also in a life that ended */
    bool may_be_dropped;      /* its lag may have been too much */
};

struct channel_facts {
    struct known *known;
    size_t capacity;
    uint64_t latest; /* begun */
    uint64_t base;   /* nothing before it is in this epoch */
    uint64_t first;  /* begun in this epoch; 0: none yet */
    uint64_t acked;  /* in this epoch: the newest that is no failure, as place_of */
    struct consumer_facts consumers[CONSUMERS];
};

struct generation_facts {
    uint64_t number;
    bool is_unprotected; /* begun by a publish, so that consumers may not have been declared */
    struct channel_facts channels[2];
    uint32_t *met; /* in which epoch a meeting came to its end */
    size_t met_capacity;
    struct generation_facts *next;
};

struct facts {
    uint64_t seed;
    uint32_t epoch; /* from 1 */
    uint64_t newest_generation;
    struct generation_facts *generations;
};

void facts_init(struct facts *facts, uint64_t seed);
void facts_destroy(struct facts *facts);

struct channel_facts *facts_channel(struct facts *facts, sw_item_kind kind, uint64_t generation);
struct generation_facts *facts_generation(struct facts *facts, uint64_t generation);
/* An address as a number that grows with it. */
uint64_t place_of(uint64_t step, uint32_t call);
const struct known *facts_known(struct facts *facts, sw_item_kind kind, const sw_address *at);
uint32_t *facts_met(struct facts *facts, uint64_t generation, uint64_t meeting);

void facts_publish_begins(struct facts *facts, sw_item_kind kind, const sw_address *at);
void facts_published(struct facts *facts, sw_item_kind kind, const sw_address *at, int64_t now_ms);
void facts_endpoint_ends(struct facts *facts);
void facts_stage_ends(struct facts *facts, unsigned stage);

/* In this epoch, for certain. */
bool facts_is_there(const struct facts *facts, const struct known *known);
/* It was begun, and may be lost with an earlier process of the endpoint. */
bool facts_may_be_lost(const struct facts *facts, const struct known *known);

#endif
