#include "client/cli/demo/trainer.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/demo/channels.h"
#include "client/cli/demo/model/loss.h"
#include "proto/base/error.h"

#define WIDEST 128 /* of a layer's values */

static bool is_first(const struct trainer *trainer) {
    return trainer->links->stage == 0;
}

static bool is_last(const struct trainer *trainer) {
    return network_is_last(trainer->net);
}

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for the training");
}

sw_status trainer_create(struct trainer *trainer, const struct demo_options *options, struct links *links,
                         sw_pipeline *pipeline, sw_error *error) {
    *trainer = (struct trainer){.options = options, .links = links, .pipeline = pipeline};
    struct network_options network = {.stage = links->stage,
                                      .stages = options->stages,
                                      .microbatches = options->microbatches,
                                      .seed = options->seed};
    trainer->digest = running_digest_create();
    trainer->values = calloc((size_t)BATCH_ROWS * WIDEST, sizeof *trainer->values);
    trainer->log_probs = calloc((size_t)BATCH_ROWS * DIGITS_CLASSES, sizeof *trainer->log_probs);
    if (!trainer->digest || !trainer->values || !trainer->log_probs) return no_memory(error);
    sw_status status = digits_load(&trainer->digits, error);
    if (status == SW_OK)
        status =
            batches_create(&trainer->batches, (uint32_t)trainer->digits.training.count, options->seed, error);
    if (status == SW_OK) status = network_create(&network, &trainer->net, error);
    return status;
}

void trainer_destroy(struct trainer *trainer) {
    network_destroy(trainer->net);
    batches_destroy(&trainer->batches);
    digits_destroy(&trainer->digits);
    running_digest_destroy(trainer->digest);
    free(trainer->values);
    free(trainer->log_probs);
}

static float *rows_of(float *values, unsigned microbatch, size_t rows, size_t width) {
    return values + microbatch * rows * width;
}

/* What the microbatch learns from: pixels, or what the stage before made of them. */
static sw_status receive_input(struct trainer *trainer, uint64_t step, unsigned microbatch, sw_error *error) {
    if (is_first(trainer)) return SW_OK;
    size_t rows = network_rows(trainer->net), width = network_input_width(trainer->net);
    float *input = rows_of(trainer->values, microbatch, rows, width);
    return links_pull(trainer->links, LINKS_BEFORE, CHANNEL_ACTIVATIONS, step, microbatch, input, rows, width,
                      error);
}

static sw_status send_gradient(struct trainer *trainer, uint64_t step, unsigned microbatch,
                               const float *gradient, sw_error *error) {
    if (is_first(trainer)) return SW_OK;
    return links_publish(trainer->links, CHANNEL_GRADIENTS, step, microbatch, gradient,
                         network_rows(trainer->net), network_input_width(trainer->net), error);
}

static sw_status learn_from_loss(struct trainer *trainer, uint64_t step, unsigned microbatch,
                                 sw_error *error) {
    size_t rows = network_rows(trainer->net);
    const float *gradient;
    sw_status status =
        network_backward_from_loss(trainer->net, microbatch, trainer->labels + microbatch * rows,
                                   rows_of(trainer->log_probs, microbatch, rows, DIGITS_CLASSES),
                                   &trainer->metrics[microbatch], &gradient, error);
    return status == SW_OK ? send_gradient(trainer, step, microbatch, gradient, error) : status;
}

static sw_status forward(struct trainer *trainer, uint64_t step, unsigned microbatch, sw_error *error) {
    size_t rows = network_rows(trainer->net), width = network_input_width(trainer->net);
    sw_status status = receive_input(trainer, step, microbatch, error);
    if (status != SW_OK) return status;
    const float *output;
    status = network_forward(trainer->net, microbatch, rows_of(trainer->values, microbatch, rows, width),
                             &output, error);
    if (status != SW_OK) return status;
    if (is_last(trainer)) return learn_from_loss(trainer, step, microbatch, error);
    return links_publish(trainer->links, CHANNEL_ACTIVATIONS, step, microbatch, output, rows,
                         network_output_width(trainer->net), error);
}

static sw_status backward(struct trainer *trainer, uint64_t step, unsigned microbatch, sw_error *error) {
    const float *gradient;
    sw_status status =
        links_pull(trainer->links, LINKS_AFTER, CHANNEL_GRADIENTS, step, microbatch, trainer->values,
                   network_rows(trainer->net), network_output_width(trainer->net), error);
    if (status != SW_OK) return status;
    status = network_backward(trainer->net, microbatch, trainer->values, &gradient, error);
    return status == SW_OK ? send_gradient(trainer, step, microbatch, gradient, error) : status;
}

static void select_images(struct trainer *trainer, uint64_t step) {
    batches_select(&trainer->batches, step, trainer->images);
    digits_gather(&trainer->digits.training, trainer->images, BATCH_ROWS,
                  is_first(trainer) ? trainer->values : NULL, is_last(trainer) ? trainer->labels : NULL);
}

sw_status trainer_step(struct trainer *trainer, uint64_t step, sw_error *error) {
    const struct demo_options *options = trainer->options;
    if (options->fails && options->fail_at == step && is_last(trainer)) kill(getpid(), SIGKILL);

    select_images(trainer, step);
    sw_status status = SW_OK;
    for (unsigned m = 0; m < options->microbatches && status == SW_OK; m++)
        status = forward(trainer, step, m, error);
    for (unsigned m = 0; m < options->microbatches && status == SW_OK && !is_last(trainer); m++)
        status = backward(trainer, step, m, error);
    if (status == SW_OK) status = share_step(trainer, step, error);
    return status == SW_OK ? network_update(trainer->net, error) : status;
}

static sw_status pass_on(struct trainer *trainer, const float *output, size_t rows, sw_error *error) {
    if (!is_last(trainer))
        return links_publish(trainer->links, CHANNEL_EVALUATION, 0, 0, output, rows,
                             network_output_width(trainer->net), error);
    trainer->correct = loss_count_correct(rows, output, trainer->digits.evaluation.labels);
    return SW_OK;
}

sw_status trainer_evaluate(struct trainer *trainer, sw_error *error) {
    size_t rows = trainer->digits.evaluation.count, width = network_input_width(trainer->net);
    float *input = malloc(rows * WIDEST * sizeof *input), *output = malloc(rows * WIDEST * sizeof *output);
    sw_status status = input && output ? SW_OK : no_memory(error);
    if (status == SW_OK && !is_first(trainer))
        status =
            links_pull(trainer->links, LINKS_BEFORE, CHANNEL_EVALUATION, 0, 0, input, rows, width, error);
    if (status == SW_OK) {
        network_evaluate(trainer->net, rows, is_first(trainer) ? trainer->digits.evaluation.pixels : input,
                         output);
        status = pass_on(trainer, output, rows, error);
    }
    free(input);
    free(output);
    return status == SW_OK ? share_held_out(trainer, error) : status;
}
