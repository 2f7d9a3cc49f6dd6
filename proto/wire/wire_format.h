/* Protobuf's encoding: varints, tags and lengths. */
#ifndef STAGEWIRE_WIRE_WIRE_FORMAT_H
#define STAGEWIRE_WIRE_WIRE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define WIRE_TAG(field, type) ((field) << 3 | (type))
#define VARINT_MAX            10
#define VARINT32_MAX          5

static inline size_t varint_size(uint64_t number) {
    return (70u - (unsigned)__builtin_clzll(number | 1)) / 7;
}

/* Returns the bytes written, at most VARINT_MAX. */
static inline size_t varint_write(uint8_t *out, uint64_t number) {
    size_t size = 0;
    while (number >= 0x80) {
        out[size++] = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    out[size++] = (uint8_t)number;
    return size;
}

static inline void fixed64_write(uint8_t *out, uint64_t number) {
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(number >> (8 * i));
}

static inline uint64_t fixed64_read(const uint8_t *bytes) {
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

#endif
