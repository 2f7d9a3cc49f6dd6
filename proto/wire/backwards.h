/* Protobuf written from the end to the start: a length is known once what it measures has been written, so
 * that nothing is measured twice. Whoever writes has measured the whole before. */
#ifndef STAGEWIRE_WIRE_BACKWARDS_H
#define STAGEWIRE_WIRE_BACKWARDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/wire/wire_format.h"

struct backwards {
    uint8_t *at; /* the first byte written */
};

static inline void backwards_varint(struct backwards *out, uint64_t number) {
    out->at -= varint_size(number);
    varint_write(out->at, number);
}

static inline void backwards_tag(struct backwards *out, unsigned field, enum wire_type type) {
    *--out->at = (uint8_t)WIRE_TAG(field, type);
}

/* Closes the message or string that ends at `end`. */
static inline void backwards_frame(struct backwards *out, unsigned field, const uint8_t *end) {
    backwards_varint(out, (uint64_t)(end - out->at));
    backwards_tag(out, field, WIRE_BYTES);
}

static inline void backwards_bytes(struct backwards *out, unsigned field, const void *data, size_t size) {
    const uint8_t *end = out->at;
    out->at -= size;
    if (size > 0) memcpy(out->at, data, size);
    backwards_frame(out, field, end);
}

static inline void backwards_number(struct backwards *out, unsigned field, uint64_t number) {
    backwards_varint(out, number);
    backwards_tag(out, field, WIRE_VARINT);
}

static inline void backwards_double(struct backwards *out, unsigned field, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    out->at -= sizeof bits;
    fixed64_write(out->at, bits);
    backwards_tag(out, field, WIRE_FIXED64);
}

#endif
