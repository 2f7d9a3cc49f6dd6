/* JSON as metrics to publish: an object, or an array of objects.
 *
 * Integers stay integers and other numbers are doubles; an integer beyond int64 is an error. With `from_get`
 * the text is a line of `stagewire get --json`, of which the member "metrics" counts, and where
 *
 *     "NaN", "Infinity", "-Infinity"    are doubles
 *     {"$blob": BASE64}                 is a blob
 *     {"$extension": TYPE, "value": …}  is an extension
 *     {"$tensor": …}                    is an error: its bytes are not there
 *
 * Otherwise those are plain text and plain objects. */
#ifndef STAGEWIRE_CLIENT_CLI_JSON_READ_H
#define STAGEWIRE_CLIENT_CLI_JSON_READ_H

#include <stdbool.h>

#include <stagewire/status.h>
#include <stagewire/value.h>

#include "proto/wire/arena.h"

/* The value lives in `arena`. INVALID_ARGUMENT says where the text is wrong, RESOURCE_EXHAUSTED without
 * memory. */
sw_status json_read_metrics(const char *text, size_t size, bool from_get, struct arena *arena,
                            const sw_value **ret_metrics, sw_error *error);

#endif
