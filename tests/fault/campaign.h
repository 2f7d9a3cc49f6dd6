/* A campaign: four stages at work, faults from a seeded schedule, and then all must be well again. */
#ifndef STAGEWIRE_TESTS_FAULT_CAMPAIGN_H
#define STAGEWIRE_TESTS_FAULT_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/fault/schedule.h"

struct campaign_options {
    uint64_t seed, faults;
    bool kinds[FAULT_KINDS]; /* those that are injected */
    bool is_verbose;
};

/* False if the contract was broken; it has said how. */
bool campaign_run(const struct campaign_options *options);

/* The process of stage 2, started by the campaign with these arguments, of which the first says so. */
#define STAGE_ARGUMENT "--play-stage"
int campaign_play_stage(char **arguments);

#endif
