/* Inside of the value codec: what its parts share. */
#ifndef STAGEWIRE_WIRE_VALUE_TREE_H
#define STAGEWIRE_WIRE_VALUE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/value.h>

#include "proto/base/allocator.h"
#include "proto/wire/malformed.h"

/* Fields of stage.proto. */
enum {
    VALUE_NULL = 1,
    VALUE_BOOLEAN = 2,
    VALUE_INTEGER = 3,
    VALUE_NUMBER = 4,
    VALUE_TEXT = 5,
    VALUE_BLOB = 6,
    VALUE_TENSOR = 7,
    VALUE_LIST = 8,
    VALUE_TUPLE = 9,
    VALUE_MAP = 10,
    VALUE_EXTENSION = 11,
};
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_DATA = 3 };
enum {
    LIST_ITEMS = 1,
    MAP_VALUES = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    EXTENSION_TYPE = 1,
    EXTENSION_VALUE = 2
};
enum { METRICS_SINGLE = 1, METRICS_LIST = 2 };

/* An encoding is measured to the byte up to here, and beyond only known to be too large. */
#define VALUE_BYTES_MAX (UINT64_C(1) << 31)

/* What must hold of any value, wherever it comes from. */
sw_status value_check_text(sw_bytes text, const char *what, const struct path *path, sw_error *error);
sw_status value_check_tensor(const sw_tensor_view *tensor, const struct path *path, sw_error *error);
sw_status value_check_keys(const sw_entry *entries, size_t count, const struct path *path,
                           const struct allocator *allocator, sw_error *error);
/* `depth` is that of what holds the value; a list, tuple, dict or extension is one deeper. */
sw_status value_check_depth(unsigned depth, const struct path *path, sw_error *error);

/* Checks a tree that was handed in, and says what its encoding takes (at most VALUE_BYTES_MAX). */
sw_status value_measure(const sw_value *value, unsigned depth, const struct path *path, uint64_t *ret_bytes,
                        sw_error *error);
sw_status metrics_measure(const sw_value *metrics, const struct path *path, uint64_t *ret_bytes,
                          sw_error *error);

/* Bytes of a list's items and of a dict's entries that were checked, without tag and length of the whole. */
uint64_t value_field_bytes(uint64_t content);

#endif
