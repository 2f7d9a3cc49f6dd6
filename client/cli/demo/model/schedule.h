/* The learning rate of the demo's training, by step. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_SCHEDULE_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_SCHEDULE_H

#include <stdint.h>

/*
 * The rate at which the update of `step` (from 0) learns: it rises linearly over the first steps and then
 * falls slowly. It does not depend on how many steps there will be, so a shorter run is the beginning of a
 * longer one. Any thread may call it.
 */
double schedule_learning_rate(uint64_t step);

#endif
