/* A publisher that only writes down what it was asked: "attach 3/4 train:metrics(stage-0,stage-1)<64",
 * "metrics train 5/0 loss", "tensors …", "failure metrics train 5/1 message". */
#ifndef STAGEWIRE_TESTS_UNIT_PIPELINE_RECORDER_H
#define STAGEWIRE_TESTS_UNIT_PIPELINE_RECORDER_H

#include <stagewire/publisher.h>

#define RECORDER_LINES 64

struct recorder {
    sw_publisher publisher;
    unsigned lines;
    char line[RECORDER_LINES][256];
    size_t longest_message; /* of a failure */
    unsigned leases;        /* that stand */
    sw_reason refuses;      /* publishes, but for failures; SW_REASON_NONE: none */
};

void recorder_init(struct recorder *recorder);

/* Whether the line is there. */
bool recorder_has(const struct recorder *recorder, const char *line);

#endif
