/* What a call hands out: immutable, one handle owns it all. The accessors are stagewire/client.h's. */
#ifndef STAGEWIRE_CLIENT_CORE_RESULTS_H
#define STAGEWIRE_CLIENT_CORE_RESULTS_H

#include <stagewire/client.h>

#include "client/core/names.h"
#include "proto/wire/arena.h"

struct sw_metrics {
    struct arena arena;
    sw_address address;
    const sw_value *value;
    int64_t published_unix_ns;
};

struct sw_object {
    struct arena arena;
    const uint32_t *owners;
    uint32_t owner_count;
    const sw_value *value;
};

struct sw_tensors {
    struct arena arena; /* strings, shapes and the arrays below */
    sw_address address;
    int64_t published_unix_ns;
    uint32_t count;
    const char **names;
    sw_tensor_view *views;
    sw_buffer **buffers; /* NULL where the memory is the caller's */
    struct names by_name;
};

/* Zeroed, with an arena of LIMIT_DECODE_BYTES; NULL without memory. */
sw_metrics *metrics_create(void);
sw_object *object_create(void);

/* With arrays of `count`, taken from `arena`, which it takes over if it returns one. NULL without memory. */
sw_tensors *tensors_create(uint32_t count, struct arena *arena);

#endif
