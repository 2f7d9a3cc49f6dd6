/* Reads the fields of one message from bytes that lie together. Never reads beyond them; makes nothing. */
#ifndef STAGEWIRE_WIRE_READER_H
#define STAGEWIRE_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/wire_format.h"

struct span {
    const uint8_t *data;
    size_t size;
};

struct reader {
    const uint8_t *at, *end;
    bool broken; /* what came is no protobuf: cut, or a wire type or field number that there is not */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;    /* VARINT, FIXED64 and FIXED32 */
    struct span bytes; /* BYTES */
};

static inline struct reader reader_over(struct span span) {
    return (struct reader){span.data, span.size > 0 ? span.data + span.size : span.data, false};
}

/* False at the end, and where it is broken. */
bool reader_next(struct reader *reader, struct wire_field *ret);

/* A varint outside of any field, as in packed numbers. */
bool reader_varint(struct reader *reader, uint64_t *ret);

/* How many fields of that number are there; a broken end is not counted, and found by whoever reads it. */
size_t reader_count(struct span span, uint32_t number);

#endif
