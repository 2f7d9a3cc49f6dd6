/* The demo's training with all its stages in this process, handing one another pointers. */
#ifndef STAGEWIRE_TESTS_UNIT_DEMO_MODEL_TRAINING_H
#define STAGEWIRE_TESTS_UNIT_DEMO_MODEL_TRAINING_H

#include "client/cli/demo/model/network.h"

/* ALL_FORWARD_FIRST is GPipe's order, ONE_BY_ONE takes each microbatch back before the next goes forward. */
enum training_order { ALL_FORWARD_FIRST, ONE_BY_ONE };

struct training {
    struct digits digits;
    struct batches batches;
    unsigned stages;
    unsigned microbatches;
    enum training_order order;
    struct network *nets[NETWORK_STAGES_MAX];
    float pixels[BATCH_ROWS * DIGITS_PIXELS]; /* of the current step */
    uint8_t labels[BATCH_ROWS];
    /* Of the step that was learned last: */
    struct network_metrics metrics[NETWORK_MICROBATCHES_MAX];
    float log_probs[BATCH_ROWS * DIGITS_CLASSES];
};

/* Both fail the test on any error. The caller ends it with training_destroy. */
struct training *training_create(unsigned stages, unsigned microbatches, uint64_t seed);
void training_destroy(struct training *training);

/* Fills pixels and labels of the step that comes next. */
void training_select(struct training *training);

/* Microbatch `microbatch` of them through all stages. */
void training_forward(struct training *training, unsigned microbatch);
void training_backward(struct training *training, unsigned microbatch);

/* A whole step with its update; returns its mean. */
struct network_metrics training_step(struct training *training);

/* The share of held-out images that all stages together name rightly. */
double training_accuracy(const struct training *training);

#endif
