/* The marker: how many calls the last stage made within a step, so that the others can compare. */
#ifndef STAGEWIRE_CLIENT_PIPELINE_MARKER_H
#define STAGEWIRE_CLIENT_PIPELINE_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/value.h>

#include "client/pipeline/internal.h"

#define MARKER_ENTRIES (PIPELINE_KINDS - 1)

/* {"metrics": n, "tensors": n, "objects": n}; lives in `entries`. */
sw_value marker_write(const uint32_t calls[PIPELINE_KINDS], sw_entry entries[MARKER_ENTRIES]);

/* False if `value` is no marker. */
bool marker_read(const sw_value *value, uint32_t ret_calls[PIPELINE_KINDS]);

/* "metrics 2 against 1, tensors 0 against 1": the kinds that differ. Returns whether any does. */
bool marker_compare(const uint32_t here[PIPELINE_KINDS], const uint32_t there[PIPELINE_KINDS], char *text,
                    size_t size);

#endif
