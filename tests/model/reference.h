/* The contract as the simplest program that is obviously right: arrays, and every question answered by
 * looking at all that ever happened. Nothing here is shared with the store. */
#ifndef STAGEWIRE_TESTS_MODEL_REFERENCE_H
#define STAGEWIRE_TESTS_MODEL_REFERENCE_H

#include "tests/model/mutants.h"
#include "tests/model/operation.h"
#include "tests/model/outcome.h"

struct reference;

struct reference *reference_create(const struct setting *setting, enum mutant mutant);
void reference_destroy(struct reference *reference);
void reference_apply(struct reference *reference, const struct operation *operation, struct outcome *ret);

#endif
