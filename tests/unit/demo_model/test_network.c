#include "client/cli/demo/model/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/demo/model/schedule.h"
#include "tests/support/test.h"
#include "tests/unit/demo_model/training.h"

static void expect_refused(struct network_options options, const char *part_of_message) {
    struct sw_error error;
    struct network *net = NULL;
    cr_assert_eq(network_create(&options, &net, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, part_of_message), "%s", error.message);
    cr_assert_null(net);
}

Test(network, options_that_cannot_be_had_are_refused_by_name) {
    expect_refused((struct network_options){.stages = 0, .microbatches = 8}, "--stages 0");
    expect_refused((struct network_options){.stages = 5, .microbatches = 8}, "1 to 4 stages");
    expect_refused((struct network_options){.stage = 2, .stages = 2, .microbatches = 8}, "stage 2");
    expect_refused((struct network_options){.stages = 1, .microbatches = 0}, "--microbatches 0");
    expect_refused((struct network_options){.stages = 1, .microbatches = 7},
                   "--microbatches 7 does not divide");
    expect_refused((struct network_options){.stages = 1, .microbatches = 512}, "--microbatches 512");
}

Test(network, neighbours_agree_on_widths_and_only_the_last_computes_the_loss) {
    for (unsigned stages = 1; stages <= NETWORK_STAGES_MAX; stages++) {
        struct training *training = training_create(stages, 8, 1);
        cr_assert_eq(network_input_width(training->nets[0]), DIGITS_PIXELS);
        cr_assert_eq(network_output_width(training->nets[stages - 1]), DIGITS_CLASSES);
        for (unsigned s = 0; s < stages; s++) {
            cr_assert_eq(network_rows(training->nets[s]), 32);
            cr_assert_eq(network_is_last(training->nets[s]), s == stages - 1);
            if (s > 0)
                cr_assert_eq(network_output_width(training->nets[s - 1]),
                             network_input_width(training->nets[s]));
        }
        training_destroy(training);
    }
}

Test(network, calls_out_of_order_are_refused_and_change_nothing) {
    struct training *training = training_create(2, 2, 1);
    struct network *first = training->nets[0], *last = training->nets[1];
    const float *out;
    struct network_metrics metrics;
    struct sw_error error;
    static float gradient[BATCH_ROWS * 128];
    training_select(training);
    cr_assert_eq(network_forward(first, 1, training->pixels, &out, &error), SW_FAILED_PRECONDITION);
    cr_assert(strstr(error.message, "step 0: the forward pass of microbatch 1"), "%s", error.message);
    cr_assert_eq(network_backward(first, 0, gradient, &out, NULL), SW_FAILED_PRECONDITION);
    training_forward(training, 0);
    cr_assert_eq(network_forward(first, 0, training->pixels, &out, NULL), SW_FAILED_PRECONDITION);
    cr_assert_eq(network_backward(first, 1, gradient, &out, NULL), SW_FAILED_PRECONDITION);
    cr_assert_eq(network_backward(last, 0, gradient, &out, NULL), SW_FAILED_PRECONDITION);
    cr_assert_eq(
        network_backward_from_loss(first, 0, training->labels, training->log_probs, &metrics, &out, NULL),
        SW_FAILED_PRECONDITION);
    cr_assert_eq(network_update(first, &error), SW_FAILED_PRECONDITION);
    cr_assert(strstr(error.message, "only 0 of 2 microbatches"), "%s", error.message);
    training_forward(training, 1);
    cr_assert_eq(network_backward(first, 1, gradient, &out, NULL), SW_FAILED_PRECONDITION);
    training_backward(training, 0);
    cr_assert_eq(network_backward(first, 0, gradient, &out, NULL), SW_FAILED_PRECONDITION);
    training_backward(training, 1);
    cr_assert_eq(network_forward(first, 2, training->pixels, &out, NULL), SW_FAILED_PRECONDITION);
    for (unsigned s = 0; s < 2; s++) {
        cr_assert_eq(network_update(training->nets[s], NULL), SW_OK);
        cr_assert_eq(network_step(training->nets[s]), 1);
    }
    training_destroy(training);
}

Test(network, the_loss_is_the_mean_of_the_labels_log_probabilities) {
    struct training *training = training_create(1, 4, 1);
    size_t rows = network_rows(training->nets[0]);
    training_step(training);
    for (unsigned m = 0; m < 4; m++) {
        double loss = 0.0;
        size_t correct = 0;
        for (size_t row = m * rows; row < (m + 1) * rows; row++) {
            const float *log_probs = training->log_probs + row * DIGITS_CLASSES;
            double sum = 0.0;
            size_t best = 0;
            for (size_t c = 0; c < DIGITS_CLASSES; c++) {
                sum += exp(log_probs[c]);
                if (log_probs[c] > log_probs[best]) best = c;
            }
            cr_assert_lt(fabs(sum - 1.0), 1e-6);
            loss -= log_probs[training->labels[row]] / (double)rows;
            correct += best == training->labels[row];
        }
        cr_assert_lt(fabs(loss - training->metrics[m].loss), 1e-6);
        cr_assert_eq(training->metrics[m].accuracy, (double)correct / (double)rows);
        cr_assert_eq(training->metrics[m].num_valid_samples, (int64_t)rows);
        cr_assert_eq(training->metrics[m].lr, schedule_learning_rate(0));
    }
    training_destroy(training);
}

Test(network, the_gradient_norm_is_the_output_layers) {
    struct training *training = training_create(3, 1, 1);
    size_t count;
    training_select(training);
    training_forward(training, 0);
    training_backward(training, 0);
    const float *gradient = network_gradient_total(training->nets[2], NETWORK_LAYERS - 1, &count);
    cr_assert_eq(count, 32 * 10 + 10);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += (double)gradient[i] * gradient[i];
    cr_assert_gt(sum, 0.0);
    cr_assert_lt(fabs(sqrt(sum) - training->metrics[0].grad_norm), 1e-9);
    training_destroy(training);
}

Test(network, evaluation_gives_the_bits_of_the_forward_pass_and_learns_nothing) {
    struct training *training = training_create(1, 1, 1);
    const float *logits;
    static float evaluated[BATCH_ROWS * DIGITS_CLASSES];
    training_step(training);
    training_select(training);
    network_evaluate(training->nets[0], BATCH_ROWS, training->pixels, evaluated);
    cr_assert_eq(network_forward(training->nets[0], 0, training->pixels, &logits, NULL), SW_OK);
    cr_assert_eq(memcmp(logits, evaluated, sizeof evaluated), 0);
    training_destroy(training);
}

Test(network, the_first_update_goes_down_the_mean_gradient_at_the_steps_rate) {
    struct training *training = training_create(1, 8, 1);
    size_t count;
    float *parameters = network_parameters(training->nets[0], 1, &count);
    float *before = malloc(count * sizeof *before), *total = malloc(count * sizeof *total);
    training_select(training);
    for (unsigned m = 0; m < 8; m++) {
        training_forward(training, m);
        training_backward(training, m);
    }
    memcpy(before, parameters, count * sizeof *before);
    memcpy(total, network_gradient_total(training->nets[0], 1, &count), count * sizeof *total);
    cr_assert_eq(network_update(training->nets[0], NULL), SW_OK);
    for (size_t i = 0; i < count; i++) {
        double expected = before[i] - schedule_learning_rate(0) * total[i] / 8;
        cr_assert_lt(fabs(parameters[i] - expected), 1e-7);
    }
    free(before);
    free(total);
    training_destroy(training);
}

Test(network, a_steps_mean_is_weighted_by_the_valid_samples) {
    struct network_metrics parts[] = {
        {.loss = 1.0, .accuracy = 0.5, .grad_norm = 2.0, .lr = 0.1, .num_valid_samples = 1},
        {.loss = 5.0, .accuracy = 1.0, .grad_norm = 6.0, .lr = 0.1, .num_valid_samples = 3},
    };
    struct network_metrics mean = network_metrics_mean(parts, 2);
    cr_assert_eq(mean.loss, 4.0);
    cr_assert_eq(mean.accuracy, 0.875);
    cr_assert_eq(mean.grad_norm, 5.0);
    cr_assert_eq(mean.lr, 0.1);
    cr_assert_eq(mean.num_valid_samples, 4);
}

Test(schedule, the_rate_rises_then_falls_and_stays_above_zero) {
    uint64_t step = 1;
    while (schedule_learning_rate(step) > schedule_learning_rate(step - 1)) step++;
    cr_assert(step > 2 && step < 50, "the peak is at step %llu", (unsigned long long)step - 1);
    cr_assert_gt(schedule_learning_rate(0), 0.0);
    for (; step < 10000; step++) {
        cr_assert_leq(schedule_learning_rate(step), schedule_learning_rate(step - 1));
        cr_assert_gt(schedule_learning_rate(step), 0.0);
    }
}
