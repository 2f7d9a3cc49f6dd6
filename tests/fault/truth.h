/* What the trainer of a campaign publishes: a function of seed and address, so that everybody can tell
 * whether what he got is what was published there. Pure. */
#ifndef STAGEWIRE_TESTS_FAULT_TRUTH_H
#define STAGEWIRE_TESTS_FAULT_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/client.h>

enum { STAGES = 4, LAST_STAGE = STAGES - 1, CONSUMERS = LAST_STAGE, CALLS_MAX = 3 };

#define RUN_ID  "faults"
#define METRICS "train"
#define TENSORS "logits"
#define OBJECTS "objects"

/* Bytes that only tensors have so often in a row: where a bit may be turned so that only hashes tell. */
enum { TURN_VALUE = 0xa5, TURN_RUN = 96 };

uint64_t truth_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* How many calls a step has in the channel; 0: it is skipped. Failures are calls too. */
unsigned truth_calls(uint64_t seed, sw_item_kind kind, uint64_t generation, uint64_t step);
bool truth_fails(uint64_t seed, sw_item_kind kind, const sw_address *at);
void truth_message(uint64_t seed, sw_item_kind kind, const sw_address *at, char ret[64]);

/* `entries` and `text` are the caller's, and the value points into them. */
struct truth_metrics {
    sw_entry entries[3];
    char text[64];
    sw_value value;
};
void truth_metrics(uint64_t seed, const sw_address *at, struct truth_metrics *ret);
bool truth_metrics_match(uint64_t seed, const sw_address *at, const sw_value *value);

/* Two tensors, "head" and "body"; ret->data are to be freed with truth_tensors_free. */
struct truth_tensors {
    sw_named_tensor tensors[2];
    int64_t shapes[2][1];
};
void truth_tensors(uint64_t seed, const sw_address *at, struct truth_tensors *ret);
void truth_tensors_free(struct truth_tensors *tensors);
/* Those that came, at least one, each as it was published. */
bool truth_tensors_match(uint64_t seed, const sw_address *at, const sw_tensors *tensors);

/* A bit for each stage that has the object of this meeting, and what it is: a text. */
unsigned truth_owners(uint64_t seed, uint64_t generation, uint64_t meeting);
void truth_object(uint64_t seed, uint64_t generation, uint64_t meeting, unsigned owner, char ret[64]);
bool truth_object_match(uint64_t seed, uint64_t generation, uint64_t meeting, const sw_object *object);

#endif
