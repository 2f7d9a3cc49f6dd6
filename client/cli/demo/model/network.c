#include "client/cli/demo/model/network.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/demo/model/dense.h"
#include "client/cli/demo/model/loss.h"
#include "client/cli/demo/model/schedule.h"
#include "proto/base/error.h"

static const size_t widths[NETWORK_LAYERS + 1] = {DIGITS_PIXELS, 128, 64, 32, DIGITS_CLASSES};
#define WIDTH_MAX 128

struct network {
    unsigned first; /* layers of the whole network: from `first` up to `end` */
    unsigned end;
    unsigned microbatches;
    unsigned forwarded; /* microbatches of this step */
    unsigned backwarded;
    size_t rows;
    uint64_t step;
    struct dense layers[NETWORK_LAYERS]; /* those owned are in their own places, the others zero */
    float *activations[NETWORK_LAYERS +
                       1]; /* [BATCH_ROWS, width]: what goes into each layer, and the last one's output */
    float *gradients[NETWORK_LAYERS +
                     1]; /* [rows, width]: by those, of the microbatch that went backward last */
};

enum sw_status network_check(const struct network_options *options, struct sw_error *error) {
    if (options->stages < 1 || options->stages > NETWORK_STAGES_MAX)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "--stages %u: the network has %d layers, so 1 to %d stages can share them",
                              options->stages, NETWORK_LAYERS, NETWORK_STAGES_MAX);
    if (options->stage >= options->stages)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "stage %u: with --stages %u the stages are 0 to %u", options->stage,
                              options->stages, options->stages - 1);
    if (options->microbatches == 0 || BATCH_ROWS % options->microbatches != 0)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "--microbatches %u does not divide the batch of %d images; "
                              "use 1, 2, 4, 8, 16, 32, 64, 128 or 256",
                              options->microbatches, BATCH_ROWS);
    return SW_OK;
}

static bool allocate(struct network *net, uint64_t seed) {
    for (unsigned i = net->first; i <= net->end; i++) {
        net->activations[i] = calloc(BATCH_ROWS * widths[i], sizeof(float));
        net->gradients[i] = calloc(net->rows * widths[i], sizeof(float));
        if (!net->activations[i] || !net->gradients[i]) return false;
    }
    for (unsigned i = net->first; i < net->end; i++) {
        bool relu = i + 1 < NETWORK_LAYERS;
        if (!dense_create(&net->layers[i], widths[i], widths[i + 1], relu, seed, i)) return false;
    }
    return true;
}

enum sw_status network_create(const struct network_options *options, struct network **ret,
                              struct sw_error *error) {
    enum sw_status status = network_check(options, error);
    if (status != SW_OK) return status;
    struct network *net = calloc(1, sizeof *net);
    if (net) {
        net->first = options->stage * NETWORK_LAYERS / options->stages;
        net->end = (options->stage + 1) * NETWORK_LAYERS / options->stages;
        net->microbatches = options->microbatches;
        net->rows = BATCH_ROWS / options->microbatches;
    }
    if (!net || !allocate(net, options->seed)) {
        network_destroy(net);
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                              "no memory for the network of stage %u", options->stage);
    }
    *ret = net;
    return SW_OK;
}

void network_destroy(struct network *net) {
    if (!net) return;
    for (unsigned i = 0; i < NETWORK_LAYERS; i++) dense_destroy(&net->layers[i]);
    for (unsigned i = 0; i <= NETWORK_LAYERS; i++) {
        free(net->activations[i]);
        free(net->gradients[i]);
    }
    free(net);
}

size_t network_rows(const struct network *net) {
    return net->rows;
}

size_t network_input_width(const struct network *net) {
    return widths[net->first];
}

size_t network_output_width(const struct network *net) {
    return widths[net->end];
}

bool network_is_last(const struct network *net) {
    return net->end == NETWORK_LAYERS;
}

uint64_t network_step(const struct network *net) {
    return net->step;
}

static float *activation(const struct network *net, unsigned layer, unsigned microbatch) {
    return net->activations[layer] + microbatch * net->rows * widths[layer];
}

static enum sw_status out_of_order(const struct network *net, const char *what, unsigned microbatch,
                                   struct sw_error *error) {
    return error_set_code(
        error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
        "step %llu: the %s of microbatch %u is out of order; %u of %u went forward and %u backward",
        (unsigned long long)net->step, what, microbatch, net->forwarded, net->microbatches, net->backwarded);
}

enum sw_status network_forward(struct network *net, unsigned microbatch, const float *input,
                               const float **ret_output, struct sw_error *error) {
    if (microbatch != net->forwarded || microbatch >= net->microbatches)
        return out_of_order(net, "forward pass", microbatch, error);
    memcpy(activation(net, net->first, microbatch), input, net->rows * widths[net->first] * sizeof *input);
    for (unsigned i = net->first; i < net->end; i++)
        dense_forward(&net->layers[i], net->rows, activation(net, i, microbatch),
                      activation(net, i + 1, microbatch));
    net->forwarded++;
    *ret_output = activation(net, net->end, microbatch);
    return SW_OK;
}

/* From gradients[end], which is set, down to the stage's input. */
static const float *backward(struct network *net, unsigned microbatch) {
    for (unsigned i = net->end; i-- > net->first;)
        dense_backward(&net->layers[i], net->rows, activation(net, i, microbatch),
                       activation(net, i + 1, microbatch), net->gradients[i + 1],
                       i == 0 ? NULL : net->gradients[i]);
    net->backwarded++;
    return net->first == 0 ? NULL : net->gradients[net->first];
}

static bool may_go_backward(const struct network *net, unsigned microbatch) {
    return microbatch == net->backwarded && microbatch < net->forwarded;
}

enum sw_status network_backward(struct network *net, unsigned microbatch, const float *gradient,
                                const float **ret_input_gradient, struct sw_error *error) {
    if (network_is_last(net))
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "the last stage goes backward from its loss, not from a gradient");
    if (!may_go_backward(net, microbatch)) return out_of_order(net, "backward pass", microbatch, error);
    memcpy(net->gradients[net->end], gradient, net->rows * widths[net->end] * sizeof *gradient);
    *ret_input_gradient = backward(net, microbatch);
    return SW_OK;
}

enum sw_status network_backward_from_loss(struct network *net, unsigned microbatch, const uint8_t *labels,
                                          float *log_probs, struct network_metrics *ret_metrics,
                                          const float **ret_input_gradient, struct sw_error *error) {
    if (!network_is_last(net))
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "only the last stage computes the loss");
    if (!may_go_backward(net, microbatch)) return out_of_order(net, "backward pass", microbatch, error);
    struct loss loss = loss_cross_entropy(net->rows, activation(net, net->end, microbatch), labels, log_probs,
                                          net->gradients[net->end]);
    *ret_input_gradient = backward(net, microbatch);
    *ret_metrics = (struct network_metrics){
        .loss = loss.mean,
        .accuracy = (double)loss.correct / (double)net->rows,
        .grad_norm = dense_gradient_norm(&net->layers[NETWORK_LAYERS - 1]),
        .lr = schedule_learning_rate(net->step),
        .num_valid_samples = (int64_t)net->rows,
    };
    return SW_OK;
}

enum sw_status network_update(struct network *net, struct sw_error *error) {
    if (net->backwarded != net->microbatches)
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "step %llu: only %u of %u microbatches went backward before the update",
                              (unsigned long long)net->step, net->backwarded, net->microbatches);
    float rate = (float)schedule_learning_rate(net->step);
    float scale = 1.0f / (float)net->microbatches;
    for (unsigned i = net->first; i < net->end; i++) dense_update(&net->layers[i], scale, rate);
    net->forwarded = 0;
    net->backwarded = 0;
    net->step++;
    return SW_OK;
}

void network_evaluate(const struct network *net, size_t rows, const float *input, float *output) {
    float scratch[2][WIDTH_MAX];
    for (size_t row = 0; row < rows; row++) {
        const float *from = input + row * widths[net->first];
        for (unsigned i = net->first; i < net->end; i++) {
            float *to = i + 1 == net->end ? output + row * widths[net->end] : scratch[i % 2];
            dense_forward(&net->layers[i], 1, from, to);
            from = to;
        }
    }
}

struct network_metrics network_metrics_mean(const struct network_metrics *metrics, size_t count) {
    struct network_metrics mean = {.lr = metrics[0].lr};
    for (size_t i = 0; i < count; i++) {
        double samples = (double)metrics[i].num_valid_samples;
        mean.loss += metrics[i].loss * samples;
        mean.accuracy += metrics[i].accuracy * samples;
        mean.grad_norm += metrics[i].grad_norm * samples;
        mean.num_valid_samples += metrics[i].num_valid_samples;
    }
    double samples = (double)mean.num_valid_samples;
    mean.loss /= samples;
    mean.accuracy /= samples;
    mean.grad_norm /= samples;
    return mean;
}

static bool owns(const struct network *net, unsigned layer) {
    return layer >= net->first && layer < net->end;
}

float *network_parameters(struct network *net, unsigned layer, size_t *ret_count) {
    if (!owns(net, layer)) return NULL;
    *ret_count = net->layers[layer].count;
    return net->layers[layer].parameters;
}

const float *network_gradient_total(const struct network *net, unsigned layer, size_t *ret_count) {
    if (!owns(net, layer)) return NULL;
    *ret_count = net->layers[layer].count;
    return net->layers[layer].total;
}

void network_parameters_changed(struct network *net) {
    for (unsigned i = net->first; i < net->end; i++) dense_transpose(&net->layers[i]);
}
