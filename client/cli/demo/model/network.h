/*
 * The multi-layer perceptron that the demo trains, 64-128-64-32-10, and a stage's part of it.
 *
 * Stage s of S owns the layers from s*4/S up to (s+1)*4/S: all four of one stage, two of two, 1+1+2 of three,
 * one of four. A stage's work in one step, for microbatch m = 0, 1, ... M-1 of BATCH_ROWS/M rows each:
 *
 *     first stage    in = the microbatch's pixels                        [rows, DIGITS_PIXELS]
 *     other stages   in = pulled from the stage before                   [rows, network_input_width]
 *                    network_forward(net, m, in, &out, err)
 *     not the last   publish out for the stage after                     [rows, network_output_width]
 *                    gradient = pulled from the stage after              [rows, network_output_width]
 *                    network_backward(net, m, gradient, &in_gradient, err)
 *     last stage     network_backward_from_loss(net, m, labels, log_probs, &metrics, &in_gradient, err)
 *     not the first  publish in_gradient for the stage before            [rows, network_input_width]
 *
 * and once all M are through, network_update(net, err), which ends the step. Forward and backward passes each
 * take the microbatches in order; any number of them may be forward before the first goes backward, so both
 * GPipe's schedule and 1F1B are possible.
 *
 * All tensors are float32, row after row without gaps. All sums are taken in one fixed order, layer by layer
 * and microbatch by microbatch, and the weights depend on seed and layer alone. So the same seed and M give
 * the same bits of every loss, log-probability and norm with any number of stages, on machines of one kind
 * (exp and log are the C library's). Another M sums in another order and gives other last bits.
 *
 * A network belongs to one thread at a time. Calls that are out of order are FAILED_PRECONDITION and change
 * nothing.
 */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_NETWORK_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "client/cli/demo/model/batches.h"
#include "client/cli/demo/model/digits.h"

#define NETWORK_LAYERS           4
#define NETWORK_STAGES_MAX       NETWORK_LAYERS
#define NETWORK_MICROBATCHES_MAX BATCH_ROWS
#define NETWORK_DEFAULT_SEED     1

struct network_options {
    unsigned stage;        /* from 0, below stages */
    unsigned stages;       /* 1 to NETWORK_STAGES_MAX */
    unsigned microbatches; /* a divisor of BATCH_ROWS */
    uint64_t seed;
};

/* One microbatch's, as the last stage publishes them. */
struct network_metrics {
    double loss;               /* the mean over the rows */
    double accuracy;           /* the share of rows whose digit came first, 0.0 to 1.0 */
    double grad_norm;          /* of the output layer's gradient of this loss, weights and biases together */
    double lr;                 /* the learning rate of this step's update */
    int64_t num_valid_samples; /* rows */
};

struct network;

/*
 * Whether the options can be had, so that a command can refuse them before it starts a process.
 * INVALID_ARGUMENT names the command's option (--stages, --microbatches) and what it may be.
 */
enum sw_status network_check(const struct network_options *options, struct sw_error *error);

/* A network at its beginning. The caller ends it with network_destroy. Errors: network_check's;
 * RESOURCE_EXHAUSTED: no memory. */
enum sw_status network_create(const struct network_options *options, struct network **ret,
                              struct sw_error *error);

/* Takes NULL. */
void network_destroy(struct network *net);

/* Rows of a microbatch; the widths of what the stage's first layer takes and its last one gives; whether it
 * computes the loss. */
size_t network_rows(const struct network *net);
size_t network_input_width(const struct network *net);
size_t network_output_width(const struct network *net);
bool network_is_last(const struct network *net);

/* Updates so far, which is the step (from 0) that is being learned. */
uint64_t network_step(const struct network *net);

/*
 * Takes a copy of `input` [rows, input width]. `ret_output` [rows, output width] belongs to the network and
 * stays as it is until the same microbatch of the next step goes forward; on the last stage it is the logits.
 */
enum sw_status network_forward(struct network *net, unsigned microbatch, const float *input,
                               const float **ret_output, struct sw_error *error);

/*
 * `gradient` [rows, output width]: of the microbatch's loss by what network_forward returned. Not for the
 * last stage. `ret_input_gradient` [rows, input width] belongs to the network and stays until the next
 * backward pass; NULL on the first stage, whose input nobody learns.
 */
enum sw_status network_backward(struct network *net, unsigned microbatch, const float *gradient,
                                const float **ret_input_gradient, struct sw_error *error);

/*
 * The last stage's: computes the loss of the logits from `labels` [rows] and goes backward from it. Writes to
 * `log_probs` [rows, DIGITS_CLASSES] the logarithm of each digit's probability.
 */
enum sw_status network_backward_from_loss(struct network *net, unsigned microbatch, const uint8_t *labels,
                                          float *log_probs, struct network_metrics *ret_metrics,
                                          const float **ret_input_gradient, struct sw_error *error);

/* Learns from the microbatches' mean gradient (descent with momentum, the rate of schedule.h) and goes on to
 * the next step. */
enum sw_status network_update(struct network *net, struct sw_error *error);

/*
 * Forward without learning, at any moment: input [rows, input width] -> output [rows, output width] for any
 * number of rows, row by row the same bits as network_forward. For held-out images: pass them through all
 * stages, then loss_count_correct (loss.h).
 */
void network_evaluate(const struct network *net, size_t rows, const float *input, float *output);

/*
 * The step's own numbers from its microbatches [count, at least 1], added in their order: loss, accuracy and
 * grad_norm are means weighted by num_valid_samples, which is summed; lr is the first's.
 */
struct network_metrics network_metrics_mean(const struct network_metrics *metrics, size_t count);

/*
 * For tests: a layer's parameters [*ret_count] (weights [inputs, outputs], then biases), and the sum of its
 * microbatches' gradients since the last update. `layer` counts within the whole network; NULL if the stage
 * doesn't own it. Call network_parameters_changed after writing.
 */
float *network_parameters(struct network *net, unsigned layer, size_t *ret_count);
const float *network_gradient_total(const struct network *net, unsigned layer, size_t *ret_count);
void network_parameters_changed(struct network *net);

#endif
