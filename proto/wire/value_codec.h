/* Values to bytes and back. Everything is checked before any recursive decoder runs, and before anything is
 * sent. Errors are MALFORMED with the `path` of the value (`metrics[2].grad.norm`, dicts by key, lists by
 * index), TOO_LARGE where the encoding passes SW_MESSAGE_MAX. */
#ifndef STAGEWIRE_WIRE_VALUE_CODEC_H
#define STAGEWIRE_WIRE_VALUE_CODEC_H

#include <stagewire/buffer.h>
#include <stagewire/status.h>
#include <stagewire/value.h>

#include "proto/base/digest.h"
#include "proto/wire/arena.h"

/* A LossMetrics message of a dict or a list of dicts. `ret_digest` (NULL is fine) is that of the decoded
 * value: doubles by their bits, dict order ignored. With `whatever_size` the size is not checked (the store
 * says TOO_LARGE in its turn). */
sw_status metrics_encode(const sw_value *metrics, bool whatever_size, sw_buffer **ret_bytes,
                         struct digest *ret_digest, sw_error *error);
sw_status metrics_decode(const void *data, size_t size, struct arena *arena, const sw_value **ret_metrics,
                         sw_error *error);

/* A Value message: what an exchange carries. */
sw_status value_encode(const sw_value *value, bool whatever_size, sw_buffer **ret_bytes,
                       struct digest *ret_digest, sw_error *error);
sw_status value_decode(const void *data, size_t size, struct arena *arena, const sw_value **ret_value,
                       sw_error *error);

/* Equal as the contract means it. */
bool value_same(const sw_value *a, const sw_value *b);
struct digest value_digest(const sw_value *value);

#endif
