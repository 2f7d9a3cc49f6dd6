/* Single elements of a tensor as plain numbers, whatever its type. */
#ifndef STAGEWIRE_CLIENT_PIPELINE_SCALARS_H
#define STAGEWIRE_CLIENT_PIPELINE_SCALARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/tensor.h>

enum scalar_kind {
    SCALAR_NONE, /* complex numbers, two values a byte, unknown types */
    SCALAR_BOOL,
    SCALAR_INTEGER,
    SCALAR_UNSIGNED, /* a U64 beyond int64 */
    SCALAR_NUMBER,
};

struct scalar {
    enum scalar_kind kind;
    union {
        bool boolean;
        int64_t integer;
        uint64_t natural;
        double number;
    };
};

/* Element `index` of `data`, which need not be aligned and must hold it. */
struct scalar scalar_read(sw_dtype dtype, const void *data, size_t index);

/* The same as a double, for summaries; false for SCALAR_NONE. */
bool scalar_as_number(struct scalar scalar, double *ret_number);

#endif
