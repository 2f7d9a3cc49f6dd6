#include "client/cli/demo/model/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/demo/model/random.h"

#define MOMENTUM 0.9f

/* y += a * x. Each element is a sum of its own, so that vector instructions don't change the order of any. */
static void add_scaled(size_t n, float a, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

static void initialise(struct dense *layer, uint64_t seed, size_t index) {
    struct random random = random_stream(seed, RANDOM_WEIGHTS, index);
    float bound = sqrtf(6.0f / (float)layer->inputs);
    size_t weights = layer->inputs * layer->outputs;
    for (size_t i = 0; i < weights; i++) layer->parameters[i] = bound * random_signed_unit(&random);
    dense_transpose(layer);
}

bool dense_create(struct dense *ret, size_t inputs, size_t outputs, bool relu, uint64_t seed, size_t index) {
    size_t weights = inputs * outputs;
    size_t count = weights + outputs;
    float *memory = calloc(4 * count + weights, sizeof *memory);
    if (!memory) return false;
    *ret = (struct dense){.inputs = inputs, .outputs = outputs, .relu = relu, .count = count};
    ret->parameters = memory;
    ret->gradient = memory + count;
    ret->total = memory + 2 * count;
    ret->velocity = memory + 3 * count;
    ret->transposed = memory + 4 * count;
    initialise(ret, seed, index);
    return true;
}

void dense_destroy(struct dense *layer) {
    free(layer->parameters);
    *layer = (struct dense){0};
}

void dense_transpose(struct dense *layer) {
    for (size_t i = 0; i < layer->inputs; i++)
        for (size_t o = 0; o < layer->outputs; o++)
            layer->transposed[o * layer->inputs + i] = layer->parameters[i * layer->outputs + o];
}

void dense_forward(const struct dense *layer, size_t rows, const float *input, float *output) {
    size_t n = layer->outputs;
    const float *bias = layer->parameters + layer->inputs * n;
    for (size_t row = 0; row < rows; row++, input += layer->inputs, output += n) {
        memcpy(output, bias, n * sizeof *output);
        for (size_t i = 0; i < layer->inputs; i++) add_scaled(n, input[i], layer->parameters + i * n, output);
        if (!layer->relu) continue;
        for (size_t o = 0; o < n; o++) output[o] = output[o] > 0.0f ? output[o] : 0.0f;
    }
}

static void backward_row(struct dense *layer, const float *input, const float *gradient,
                         float *input_gradient) {
    size_t n = layer->outputs;
    for (size_t i = 0; i < layer->inputs; i++) add_scaled(n, input[i], gradient, layer->gradient + i * n);
    add_scaled(n, 1.0f, gradient, layer->gradient + layer->inputs * n);
    if (!input_gradient) return;
    memset(input_gradient, 0, layer->inputs * sizeof *input_gradient);
    for (size_t o = 0; o < n; o++)
        add_scaled(layer->inputs, gradient[o], layer->transposed + o * layer->inputs, input_gradient);
}

void dense_backward(struct dense *layer, size_t rows, const float *input, const float *output,
                    float *gradient, float *input_gradient) {
    size_t n = layer->outputs;
    memset(layer->gradient, 0, layer->count * sizeof *layer->gradient);
    for (size_t row = 0; row < rows; row++) {
        if (layer->relu)
            for (size_t o = 0; o < n; o++) gradient[o] = output[o] > 0.0f ? gradient[o] : 0.0f;
        backward_row(layer, input, gradient, input_gradient);
        input += layer->inputs;
        output += n;
        gradient += n;
        if (input_gradient) input_gradient += layer->inputs;
    }
    add_scaled(layer->count, 1.0f, layer->gradient, layer->total);
}

double dense_gradient_norm(const struct dense *layer) {
    double sum = 0.0;
    for (size_t i = 0; i < layer->count; i++) sum += (double)layer->gradient[i] * layer->gradient[i];
    return sqrt(sum);
}

void dense_update(struct dense *layer, float scale, float rate) {
    for (size_t i = 0; i < layer->count; i++) {
        layer->velocity[i] = MOMENTUM * layer->velocity[i] + scale * layer->total[i];
        layer->parameters[i] -= rate * layer->velocity[i];
    }
    memset(layer->total, 0, layer->count * sizeof *layer->total);
    dense_transpose(layer);
}
