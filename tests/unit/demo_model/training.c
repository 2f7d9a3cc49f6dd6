#include "tests/unit/demo_model/training.h"

#include <stdlib.h>

#include "client/cli/demo/model/loss.h"
#include "tests/support/test.h"

#define EVALUATION_MAX 300
#define WIDTH_MAX      128

static void must(enum sw_status status, const struct sw_error *error) {
    cr_assert_eq(status, SW_OK, "%s", error->message);
}

struct training *training_create(unsigned stages, unsigned microbatches, uint64_t seed) {
    struct sw_error error;
    struct training *training = calloc(1, sizeof *training);
    cr_assert_not_null(training);
    training->stages = stages;
    training->microbatches = microbatches;
    must(digits_load(&training->digits, &error), &error);
    must(batches_create(&training->batches, (uint32_t)training->digits.training.count, seed, &error), &error);
    for (unsigned s = 0; s < stages; s++) {
        struct network_options options = {
            .stage = s, .stages = stages, .microbatches = microbatches, .seed = seed};
        must(network_create(&options, &training->nets[s], &error), &error);
    }
    return training;
}

void training_destroy(struct training *training) {
    for (unsigned s = 0; s < training->stages; s++) network_destroy(training->nets[s]);
    batches_destroy(&training->batches);
    digits_destroy(&training->digits);
    free(training);
}

void training_select(struct training *training) {
    uint32_t images[BATCH_ROWS];
    batches_select(&training->batches, network_step(training->nets[0]), images);
    digits_gather(&training->digits.training, images, BATCH_ROWS, training->pixels, training->labels);
}

void training_forward(struct training *training, unsigned microbatch) {
    struct sw_error error;
    const float *passed = training->pixels + microbatch * network_rows(training->nets[0]) * DIGITS_PIXELS;
    for (unsigned s = 0; s < training->stages; s++)
        must(network_forward(training->nets[s], microbatch, passed, &passed, &error), &error);
}

void training_backward(struct training *training, unsigned microbatch) {
    struct sw_error error;
    unsigned last = training->stages - 1;
    size_t row = microbatch * network_rows(training->nets[last]);
    const float *gradient;
    must(network_backward_from_loss(training->nets[last], microbatch, training->labels + row,
                                    training->log_probs + row * DIGITS_CLASSES,
                                    &training->metrics[microbatch], &gradient, &error),
         &error);
    for (unsigned s = last; s-- > 0;)
        must(network_backward(training->nets[s], microbatch, gradient, &gradient, &error), &error);
    cr_assert_null(gradient, "the first stage has nobody to give a gradient to");
}

struct network_metrics training_step(struct training *training) {
    struct sw_error error;
    training_select(training);
    for (unsigned m = 0; m < training->microbatches; m++) {
        training_forward(training, m);
        if (training->order == ONE_BY_ONE) training_backward(training, m);
    }
    if (training->order == ALL_FORWARD_FIRST)
        for (unsigned m = 0; m < training->microbatches; m++) training_backward(training, m);
    for (unsigned s = 0; s < training->stages; s++) must(network_update(training->nets[s], &error), &error);
    return network_metrics_mean(training->metrics, training->microbatches);
}

double training_accuracy(const struct training *training) {
    static float values[NETWORK_STAGES_MAX][EVALUATION_MAX * WIDTH_MAX];
    const struct digits_set *set = &training->digits.evaluation;
    cr_assert_leq(set->count, EVALUATION_MAX);
    const float *passed = set->pixels;
    for (unsigned s = 0; s < training->stages; s++) {
        network_evaluate(training->nets[s], set->count, passed, values[s]);
        passed = values[s];
    }
    return (double)loss_count_correct(set->count, passed, set->labels) / (double)set->count;
}
