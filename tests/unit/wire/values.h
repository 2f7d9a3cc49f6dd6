/* What tests of values share: a payload with every kind in it, and equality to the bit and the order. */
#ifndef STAGEWIRE_TESTS_UNIT_WIRE_VALUES_H
#define STAGEWIRE_TESTS_UNIT_WIRE_VALUES_H

#include <stdbool.h>

#include <stagewire/value.h>

#include "proto/wire/arena.h"

/* The sizes, kinds, bits and order of two trees. */
bool values_identical(const sw_value *a, const sw_value *b);

/* A dict with every kind, empty ones, limits and odd texts in it; static. */
const sw_value *every_kind(void);

sw_value number_of_bits(uint64_t bits);
sw_value blob_of(const char *data, size_t size);
sw_bytes bytes_of(const char *data, size_t size);

/* Dicts, lists, tuples and extensions in turn, `depth` of them around a null; static, up to 32. */
const sw_value *nested(unsigned depth);

/* A value of up to about `size` parts in `arena`, the same for the same seed; keys are unique. */
const sw_value *random_value(struct arena *arena, unsigned seed, unsigned size);
const sw_value *random_metrics(struct arena *arena, unsigned seed, unsigned size);

/* The decoded form of protobuf bytes, and back: for tests that write wire bytes by hand. */
#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

#endif
