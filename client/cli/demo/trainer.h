/* One stage's part of the training. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_TRAINER_H
#define STAGEWIRE_CLIENT_CLI_DEMO_TRAINER_H

#include <stagewire/pipeline.h>
#include <stagewire/status.h>

#include "client/cli/demo/demo_options.h"
#include "client/cli/demo/digest.h"
#include "client/cli/demo/links.h"
#include "client/cli/demo/model/batches.h"
#include "client/cli/demo/model/digits.h"
#include "client/cli/demo/model/network.h"

struct trainer {
    const struct demo_options *options;
    struct links *links;
    sw_pipeline *pipeline;
    struct network *net;
    struct digits digits;
    struct batches batches;
    struct running_digest *digest;

    uint32_t images[BATCH_ROWS]; /* of the step */
    uint8_t labels[BATCH_ROWS];
    float *values;    /* [BATCH_ROWS, widest]: what comes in */
    float *log_probs; /* [BATCH_ROWS, DIGITS_CLASSES] */
    struct network_metrics metrics[NETWORK_MICROBATCHES_MAX];
    uint64_t correct; /* of the images held out */
};

/* `links` are connected. On failure trainer_destroy is due, too. */
sw_status trainer_create(struct trainer *trainer, const struct demo_options *options, struct links *links,
                         sw_pipeline *pipeline, sw_error *error);
void trainer_destroy(struct trainer *trainer);

/* Forward, backward, metrics and log-probabilities shared with all stages, update. */
sw_status trainer_step(struct trainer *trainer, uint64_t step, sw_error *error);

/* The images held out, through all stages; sets `correct` on every one of them. */
sw_status trainer_evaluate(struct trainer *trainer, sw_error *error);

/* share.c: the first stage's settings, before all else: once they are there, every stage has reached every
 * other that it needs. Then the last stage's numbers of a step, to all stages. */
sw_status share_settings(struct trainer *trainer, sw_error *error);
sw_status share_step(struct trainer *trainer, uint64_t step, sw_error *error);
sw_status share_held_out(struct trainer *trainer, sw_error *error);

#endif
