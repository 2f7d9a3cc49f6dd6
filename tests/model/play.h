/* Plays a sequence to a reference and to a target, answer by answer. */
#ifndef STAGEWIRE_TESTS_MODEL_PLAY_H
#define STAGEWIRE_TESTS_MODEL_PLAY_H

#include "tests/model/mutants.h"
#include "tests/model/operation.h"
#include "tests/model/outcome.h"

/* How often each reason, and each code without one, was the reference's answer. */
struct seen {
    long reasons[SW_REASON_COUNT];
    long ok, open, other;
    long operations, notes;
};

enum { NO_DIFFERENCE = -1 };

/* The operation at which the store differs from the reference with that mutation, or NO_DIFFERENCE. `seen`
 * may be NULL. */
int play(const struct sequence *sequence, enum mutant mutant, struct seen *seen);
/* What both said at the last operation played. */
void print_last(FILE *out);

/* Fewer operations that still differ, by delta debugging. Returns where they do. */
int shrink(struct sequence *sequence, enum mutant mutant);

void sequence_print(const struct sequence *sequence, int until, FILE *out);

#endif
