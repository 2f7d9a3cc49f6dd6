/* The parts that are played in a campaign: three stages that pull, look on and speak, the trainer of the last
 * one, and two who watch. Each returns once the campaign is over. */
#ifndef STAGEWIRE_TESTS_FAULT_PART_H
#define STAGEWIRE_TESTS_FAULT_PART_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/fault/witness.h"

/* What all processes of a campaign share, in memory that they map. */
struct control {
    _Atomic uint64_t wanted_generation;          /* the trainer begins it, leaving the one that it has */
    _Atomic bool finishes;                       /* the trainer publishes a few more steps: up to last_step */
    _Atomic uint64_t last_generation, last_step; /* 0: not known yet */
    _Atomic bool stops;
};

struct part {
    uint64_t seed;
    struct control *control;
    int events; /* the pipe */
    int ticks;  /* an eventfd: a stage has done a step */
    const char *target;
    unsigned stage;
    uint64_t generation, step, meeting; /* where a stage begins */
};

enum { CALL_MS = 3000, GRACE_MS = 120000, KEEP_STEPS = 30, MAX_LAG_STEPS = 40 };

void *stage_play(void *part);
void *trainer_play(void *part);
void *watcher_play(void *part);
void *late_watcher_play(void *part);

/* A client of the part's; consumer_id NULL: an observer. */
sw_client *part_client(const struct part *part, const char *consumer_id);
struct witness part_witness(const struct part *part, enum actor actor);
/* The step is beyond what the trainer will publish. */
bool part_is_over(const struct part *part, uint64_t generation, uint64_t step);

/* One who says one word a meeting, until told to stop. */
struct speaker {
    const struct part *part;
    sw_client *client;
    unsigned stage;
    int ticks; /* an eventfd of its own: time for a meeting */
    _Atomic uint64_t generation;
    uint64_t first_meeting; /* of the generation that it begins with */
};
void *speaker_play(void *speaker);
/* The eventfd becomes readable; false where so many ms pass before. */
bool tick_wait(int ticks, int timeout_ms);
void tick(int ticks);

#endif
