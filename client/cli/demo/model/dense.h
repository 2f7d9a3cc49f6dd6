/*
 * One fully connected layer: outputs = inputs x weights + bias, then, if asked for, ReLU.
 *
 * Matrices are float32, row after row. Every sum is taken in one fixed order, so the same values give the
 * same bits wherever the layer lives. Nothing here allocates but dense_create; a layer belongs to one thread
 * at a time.
 */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_DENSE_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dense {
    size_t inputs;
    size_t outputs;
    bool relu;
    size_t count;      /* of parameters: inputs x outputs weights, [inputs, outputs], then outputs biases */
    float *parameters; /* [count], as are the next three */
    float *gradient;   /* of the microbatch that went backward last */
    float *total;      /* the sum of the gradients since the last update, in the order in which they came */
    float *velocity;
    float *transposed; /* [outputs, inputs]: the weights once more, so that the backward pass reads them in
                          order */
};

/* He initialisation from the seed and the layer's place in the whole network; false if there is no memory. */
bool dense_create(struct dense *ret, size_t inputs, size_t outputs, bool relu, uint64_t seed, size_t index);
void dense_destroy(struct dense *layer);

/* input [rows, inputs] -> output [rows, outputs], which must not overlap. A row's result depends on that row
 * alone. */
void dense_forward(const struct dense *layer, size_t rows, const float *input, float *output);

/*
 * `input` and `output` are those of dense_forward; `gradient` [rows, outputs] is that of the loss by the
 * output, and is overwritten. Sets layer->gradient, adds it to layer->total, and writes the gradient by the
 * input to `input_gradient` [rows, inputs] unless NULL.
 */
void dense_backward(struct dense *layer, size_t rows, const float *input, const float *output,
                    float *gradient, float *input_gradient);

/* The root of the sum of squares of layer->gradient. */
double dense_gradient_norm(const struct dense *layer);

/* One step of gradient descent with momentum along total x scale; total is 0 afterwards. */
void dense_update(struct dense *layer, float scale, float rate);

/* To be called after parameters were changed from outside. */
void dense_transpose(struct dense *layer);

#endif
