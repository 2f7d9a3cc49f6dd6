#include <stdlib.h>

#include "client/cli/demo/channels.h"
#include "client/cli/demo/trainer.h"
#include "proto/base/error.h"
#include "proto/wire/value_codec.h"

#define ENTRIES   5
#define LOG_PROBS "log_probs"

struct dict {
    sw_entry entries[ENTRIES];
};

static sw_value dict_of(const struct network_metrics *metrics, struct dict *dict) {
    *dict = (struct dict){{
        {sw_text_of("loss"), sw_number(metrics->loss)},
        {sw_text_of("accuracy"), sw_number(metrics->accuracy)},
        {sw_text_of("grad_norm"), sw_number(metrics->grad_norm)},
        {sw_text_of("lr"), sw_number(metrics->lr)},
        {sw_text_of("num_valid_samples"), sw_integer(metrics->num_valid_samples)},
    }};
    return sw_dict(dict->entries, ENTRIES);
}

sw_status share_settings(struct trainer *trainer, sw_error *error) {
    const struct demo_options *options = trainer->options;
    sw_entry entries[] = {{sw_text_of("seed"), sw_integer((int64_t)options->seed)},
                          {sw_text_of("steps"), sw_integer((int64_t)options->steps)},
                          {sw_text_of("microbatches"), sw_integer(options->microbatches)}};
    sw_value settings = sw_dict(entries, sizeof entries / sizeof *entries);
    bool owner = trainer->links->stage == 0;
    sw_object *object;
    sw_status status =
        sw_pipeline_broadcast_obj_from_pp_rank(trainer->pipeline, owner ? &settings : NULL, &object, error);
    if (status != SW_OK) return status;
    if (!value_same(sw_object_value(object), &settings))
        status =
            error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                           "stage %u was started with other settings than stage 0", trainer->links->stage);
    sw_object_destroy(object);
    return status;
}

/* Hands out (last stage) or pulls (the others) one payload, and counts it in the digest. */
static sw_status exchange_metrics(struct trainer *trainer, uint64_t step, const sw_value *own,
                                  sw_metrics **ret_metrics, sw_error *error) {
    int64_t started = links_now_unix_ns();
    sw_status status =
        sw_pipeline_broadcast_loss_metrics_from_last_stage(trainer->pipeline, own, ret_metrics, error);
    if (status != SW_OK) return status;
    if (!own) links_count_pull(trainer->links, started, sw_metrics_published_unix_ns(*ret_metrics), 0);
    running_digest_metrics(trainer->digest, step, sw_metrics_value(*ret_metrics));
    return SW_OK;
}

static sw_status share_metrics(struct trainer *trainer, uint64_t step, sw_error *error) {
    size_t count = trainer->options->microbatches;
    struct dict dicts[NETWORK_MICROBATCHES_MAX];
    sw_value items[NETWORK_MICROBATCHES_MAX] = {0};
    sw_value list = sw_list(items, count);
    bool owner = network_is_last(trainer->net);
    for (size_t m = 0; owner && m < count; m++) items[m] = dict_of(&trainer->metrics[m], &dicts[m]);
    sw_metrics *metrics;
    sw_status status = exchange_metrics(trainer, step, owner ? &list : NULL, &metrics, error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    return status;
}

static sw_status share_log_probs(struct trainer *trainer, uint64_t step, sw_error *error) {
    const int64_t shape[] = {BATCH_ROWS, DIGITS_CLASSES};
    size_t size = (size_t)BATCH_ROWS * DIGITS_CLASSES * sizeof(float);
    sw_named_tensor tensor = {.name = LOG_PROBS, .view = {SW_F32, 2, shape, trainer->log_probs, size}};
    sw_tensor_request request = {LOG_PROBS, trainer->log_probs, size};
    int64_t started = links_now_unix_ns();
    sw_tensors *tensors;
    sw_status status = sw_pipeline_broadcast_tensors_from_last_stage(trainer->pipeline, &tensor, &request, 1,
                                                                     &tensors, error);
    if (status != SW_OK) return status;
    running_digest_tensor(trainer->digest, step,
                          tensors ? sw_tensors_find(tensors, LOG_PROBS) : &tensor.view);
    if (tensors)
        links_count_pull(trainer->links, started, sw_tensors_published_unix_ns(tensors), size);
    else if (trainer->options->stages > 1)
        trainer->links->traffic.published_bytes += size;
    sw_tensors_destroy(tensors);
    return SW_OK;
}

sw_status share_step(struct trainer *trainer, uint64_t step, sw_error *error) {
    sw_status status = sw_pipeline_step_begin(trainer->pipeline, step, CHANNEL_TRAIN, error);
    if (status != SW_OK) return status;
    status = share_metrics(trainer, step, error);
    if (status == SW_OK) status = share_log_probs(trainer, step, error);
    if (status == SW_OK) return sw_pipeline_step_end(trainer->pipeline, NULL, error);
    sw_pipeline_step_end(trainer->pipeline, "the training step failed", NULL);
    return status;
}

sw_status share_held_out(struct trainer *trainer, sw_error *error) {
    sw_entry entry = {sw_text_of("correct"), sw_integer((int64_t)trainer->correct)};
    sw_value own = sw_dict(&entry, 1);
    sw_status status = sw_pipeline_step_begin(trainer->pipeline, 0, CHANNEL_HELD_OUT, error);
    if (status != SW_OK) return status;
    sw_metrics *metrics;
    status = exchange_metrics(trainer, 0, network_is_last(trainer->net) ? &own : NULL, &metrics, error);
    if (status != SW_OK) return status;
    const sw_value *correct = sw_dict_get(sw_metrics_value(metrics), "correct");
    if (correct && correct->kind == SW_VALUE_INTEGER)
        trainer->correct = (uint64_t)correct->integer;
    else
        status = error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "the held-out metrics lack \"correct\"");
    sw_metrics_destroy(metrics);
    return status == SW_OK ? sw_pipeline_step_end(trainer->pipeline, NULL, error) : status;
}
