/* The real store behind the same operations as the reference: clock, randomness and allocator are handed in.
 */
#ifndef STAGEWIRE_TESTS_MODEL_STORE_TARGET_H
#define STAGEWIRE_TESTS_MODEL_STORE_TARGET_H

#include "tests/model/operation.h"
#include "tests/model/outcome.h"

struct store_target;

/* `seed` decides which allocations fail, where the setting lets them. */
struct store_target *store_target_create(const struct setting *setting, uint64_t seed);
/* Ends all that is open first, and aborts if the store still holds memory then. */
void store_target_destroy(struct store_target *target);
void store_target_apply(struct store_target *target, const struct operation *operation, struct outcome *ret);

#endif
