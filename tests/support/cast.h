/* The stages of a pipeline, each on a thread of this process, with one endpoint for the last of them: in the
 * process, or a stagewired beside it. */
#ifndef STAGEWIRE_TESTS_SUPPORT_CAST_H
#define STAGEWIRE_TESTS_SUPPORT_CAST_H

#include <stagewire/endpoint.h>
#include <stagewire/pipeline.h>

#include "tests/support/daemon.h"

#define CAST_STAGES 5

/* What a stage's part came to. Results that are set are freed by cast_play and cast_close. */
struct cast_outcome {
    sw_status status;
    sw_error error;
    sw_metrics *metrics;
    sw_tensors *tensors;
    sw_object *object;
};

struct cast {
    uint32_t stages;
    bool sidecar;
    uint64_t store_bytes;        /* 0: 64 MiB */
    int64_t publisher_grace_ms;  /* 0: 30 s */
    sw_pipeline_options options; /* of all stages; what is theirs is filled in */

    sw_endpoint *endpoint;
    struct daemon *daemon;
    sw_client *beside; /* through which the last stage publishes to a sidecar */
    char target[256];
    sw_pipeline *pipeline[CAST_STAGES];
    struct cast_outcome outcome[CAST_STAGES];
};

/* Defaults: a pipeline "run" of `stages`, generation 1, 10 s for each operation. Change them before
 * cast_open. */
void cast_init(struct cast *cast, uint32_t stages, bool sidecar);
void cast_open(struct cast *cast);
void cast_close(struct cast *cast);

/* All stages do their part at the same time; the outcomes are there when all have ended. A part checks
 * nothing itself: it runs on a thread of its own. */
typedef void cast_part(struct cast *cast, uint32_t stage, struct cast_outcome *outcome);
void cast_play(struct cast *cast, cast_part *part);
/* One stage alone, on this thread. */
struct cast_outcome *cast_solo(struct cast *cast, uint32_t stage, cast_part *part);

/* The publisher of the last stage's endpoint, and a pipeline stage's own end. */
sw_publisher *cast_publisher(struct cast *cast);
void cast_leave(struct cast *cast, uint32_t stage);
/* Opens a stage again, in `generation`. */
sw_status cast_enter(struct cast *cast, uint32_t stage, uint64_t generation, sw_error *error);

static inline uint32_t cast_last(const struct cast *cast) {
    return cast->stages - 1;
}

#define expect_outcome(outcome, expected_code, expected_reason)                                              \
    do {                                                                                                     \
        const struct cast_outcome *came = outcome;                                                           \
        cr_assert(came->status == SW_##expected_code &&                                                      \
                      (came->status == SW_OK || came->error.reason == SW_REASON_##expected_reason),          \
                  "expected " #expected_code " / " #expected_reason ", got %s / %s: %s",                     \
                  sw_status_name(came->status), sw_reason_name(came->error.reason), came->error.message);    \
    } while (0)
#define expect_message(outcome, words)                                                                       \
    cr_assert(strstr((outcome)->error.message, words), "no \"%s\" in: %s", words, (outcome)->error.message)

#endif
