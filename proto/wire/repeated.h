/* Which text is there twice. */
#ifndef STAGEWIRE_WIRE_REPEATED_H
#define STAGEWIRE_WIRE_REPEATED_H

#include <stdbool.h>
#include <stddef.h>

#include <stagewire/value.h>

#include "proto/base/allocator.h"

/* `count` texts, each `stride` bytes behind the one before, as they lie in an array of structs. *ret_index is
 * the second of two that are equal, or `count` where all differ. False without memory. Linear, also for texts
 * that were chosen to make it slow. */
bool repeated_find(const sw_bytes *texts, size_t stride, size_t count, const struct allocator *allocator,
                   size_t *ret_index);

#endif
