#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/demo_model/training.h"

/* float32 rounds a loss at 1e-7, a kink of ReLU bends it: what is left of a slope over such a distance is
 * good to a percent or two. */
#define DISTANCE  2e-3
#define TOLERANCE 0.02
#define ROUNDING  5e-4

static double loss_now(struct training *training) {
    static float values[2][BATCH_ROWS * 128];
    const float *passed = training->pixels;
    for (unsigned s = 0; s < training->stages; s++) {
        network_evaluate(training->nets[s], BATCH_ROWS, passed, values[s % 2]);
        passed = values[s % 2];
    }
    double loss = 0.0;
    for (size_t row = 0; row < BATCH_ROWS; row++, passed += DIGITS_CLASSES) {
        double sum = 0.0;
        for (size_t c = 0; c < DIGITS_CLASSES; c++) sum += exp(passed[c]);
        loss += (log(sum) - passed[training->labels[row]]) / BATCH_ROWS;
    }
    return loss;
}

/* A network that has learned for some steps, with one more batch gone backward. */
static struct training *with_gradients(unsigned stages, unsigned steps) {
    struct training *training = training_create(stages, 1, 3);
    for (unsigned step = 0; step < steps; step++) training_step(training);
    training_select(training);
    training_forward(training, 0);
    training_backward(training, 0);
    return training;
}

static void expect_slope(double slope, double gradient, const char *of, size_t n) {
    cr_assert_lt(fabs(slope - gradient), TOLERANCE * fabs(gradient) + ROUNDING,
                 "%s %zu: slope %g, gradient %g", of, n, slope, gradient);
}

/* The slope along the gradient is the gradient's own length. */
static void check_direction(struct training *training, struct network *net, unsigned layer) {
    size_t count;
    float *parameters = network_parameters(net, layer, &count);
    const float *gradient = network_gradient_total(net, layer, &count);
    float *kept = malloc(count * sizeof *kept);
    memcpy(kept, parameters, count * sizeof *kept);
    double length = 0.0, loss[2];
    for (size_t i = 0; i < count; i++) length += (double)gradient[i] * gradient[i];
    length = sqrt(length);
    cr_assert_gt(length, 1e-3);
    for (int side = 0; side < 2; side++) {
        double distance = side ? DISTANCE : -DISTANCE;
        for (size_t i = 0; i < count; i++) parameters[i] = (float)(kept[i] + distance * gradient[i] / length);
        network_parameters_changed(net);
        loss[side] = loss_now(training);
    }
    memcpy(parameters, kept, count * sizeof *kept);
    free(kept);
    expect_slope((loss[1] - loss[0]) / (2 * DISTANCE), length, "layer", layer);
}

static double slope_of_parameter(struct training *training, float *parameter) {
    float kept = *parameter;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        *parameter = (float)(kept + (side ? DISTANCE : -DISTANCE));
        loss[side] = loss_now(training);
    }
    *parameter = kept;
    return (loss[1] - loss[0]) / (2 * DISTANCE);
}

/* The steepest of each fortieth of the layer: where the slope stands out of the rounding. */
static void check_some_parameters(struct training *training, struct network *net, unsigned layer) {
    size_t count;
    float *parameters = network_parameters(net, layer, &count);
    const float *gradient = network_gradient_total(net, layer, &count);
    size_t stripe = count / 40;
    for (size_t first = 0; first + stripe <= count; first += stripe) {
        size_t best = first;
        for (size_t i = first; i < first + stripe; i++)
            if (fabsf(gradient[i]) > fabsf(gradient[best])) best = i;
        expect_slope(slope_of_parameter(training, &parameters[best]), gradient[best], "parameter", best);
    }
    size_t bias = count - 1;
    expect_slope(slope_of_parameter(training, &parameters[bias]), gradient[bias], "bias", bias);
}

Test(gradients, agree_with_finite_differences_in_every_layer) {
    struct training *training = with_gradients(1, 5);
    for (unsigned layer = 0; layer < NETWORK_LAYERS; layer++) {
        check_direction(training, training->nets[0], layer);
        check_some_parameters(training, training->nets[0], layer);
    }
    training_destroy(training);
}

Test(gradients, agree_with_finite_differences_before_anything_is_learned) {
    struct training *training = with_gradients(1, 0);
    for (unsigned layer = 0; layer < NETWORK_LAYERS; layer++)
        check_direction(training, training->nets[0], layer);
    training_destroy(training);
}

Test(gradients, agree_with_finite_differences_when_they_come_from_the_next_stage) {
    struct training *training = with_gradients(NETWORK_STAGES_MAX, 5);
    for (unsigned layer = 0; layer < NETWORK_LAYERS; layer++)
        check_direction(training, training->nets[layer], layer);
    training_destroy(training);
}

/* One network that has only this microbatch to learn from. */
static void gradient_of_microbatch(const struct training *all, unsigned microbatch, unsigned layer,
                                   float *ret_gradient) {
    struct training *one = training_create(1, all->microbatches, 1);
    size_t rows = network_rows(one->nets[0]);
    size_t count;
    memcpy(one->pixels, all->pixels + microbatch * rows * DIGITS_PIXELS,
           rows * DIGITS_PIXELS * sizeof(float));
    memcpy(one->labels, all->labels + microbatch * rows, rows);
    training_forward(one, 0);
    training_backward(one, 0);
    const float *gradient = network_gradient_total(one->nets[0], layer, &count);
    memcpy(ret_gradient, gradient, count * sizeof *gradient);
    training_destroy(one);
}

static void check_sum(const struct training *all, unsigned layer) {
    size_t count;
    const float *total = network_gradient_total(all->nets[0], layer, &count);
    float *sum = calloc(count, sizeof *sum), *part = calloc(count, sizeof *part);
    for (unsigned m = 0; m < all->microbatches; m++) {
        gradient_of_microbatch(all, m, layer, part);
        for (size_t i = 0; i < count; i++) sum[i] += part[i];
    }
    cr_assert_eq(memcmp(sum, total, count * sizeof *sum), 0, "layer %u", layer);
    free(sum);
    free(part);
}

Test(gradients, of_the_microbatches_are_added_in_their_order_to_the_bit) {
    struct training *all = training_create(1, 8, 1);
    training_select(all);
    for (unsigned m = 0; m < 8; m++) {
        training_forward(all, m);
        training_backward(all, m);
    }
    for (unsigned layer = 0; layer < NETWORK_LAYERS; layer++) check_sum(all, layer);
    training_destroy(all);
}
