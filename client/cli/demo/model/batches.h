/*
 * Which images a step learns from. Each epoch goes through all of them in an order of its own, drawn from the
 * seed; steps follow one another through the epochs without leaving any out, so a batch may begin in one
 * epoch and end in the next.
 */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_BATCHES_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#define BATCH_ROWS 256 /* images a step, however many microbatches it has */

/* Belongs to one thread at a time. */
struct batches {
    uint64_t seed;
    uint32_t images;
    uint64_t epoch;  /* that `order` is of */
    uint32_t *order; /* [images] */
};

/* `images` from 1. Two of the same seed and number of images select the same, in whichever process.
 * RESOURCE_EXHAUSTED: no memory. */
enum sw_status batches_create(struct batches *ret, uint32_t images, uint64_t seed, struct sw_error *error);
void batches_destroy(struct batches *batches);

/*
 * Writes the numbers of the images of `step` (from 0, in any order of calls). Microbatch m of M has the
 * BATCH_ROWS / M of them from m * BATCH_ROWS / M on.
 */
void batches_select(struct batches *batches, uint64_t step, uint32_t ret_indices[BATCH_ROWS]);

#endif
