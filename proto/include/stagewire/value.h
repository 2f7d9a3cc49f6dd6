/* Values: what a training script puts in a metric dict.
 *
 * A value is a plain tree that its owner may build on the stack; the library only reads it. What the library
 * hands out is a tree of the same form in memory that one handle owns (sw_metrics, sw_object). Doubles keep
 * their bits, NaN payloads and signed zero included; dicts keep the order of their keys.
 *
 *     const sw_value loss = sw_dict((sw_entry[]){{sw_text_of("loss"), sw_number(0.25)}}, 1);
 */
#ifndef STAGEWIRE_VALUE_H
#define STAGEWIRE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <stagewire/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists, tuples, dicts and extensions within each other. The dict of a payload is the first level, whether it
 * comes alone or in the payload's list of dicts: {"a": [1]} is 2 deep. Of any other value the outermost list,
 * tuple, dict or extension is the first. */
#define SW_VALUE_DEPTH_MAX 16
#define SW_MESSAGE_MAX     ((4u << 20) - (4u << 10)) /* bytes of a payload, encoded */

/* Bytes with a length; as text they are UTF-8 and may hold NUL. Not NUL-terminated unless said so. */
typedef struct sw_bytes {
    const char *data;
    size_t size;
} sw_bytes;

typedef enum sw_value_kind {
    SW_VALUE_NULL,
    SW_VALUE_BOOL,
    SW_VALUE_INTEGER,
    SW_VALUE_NUMBER,
    SW_VALUE_TEXT,
    SW_VALUE_BLOB,
    SW_VALUE_TENSOR,
    SW_VALUE_LIST,
    SW_VALUE_TUPLE,
    SW_VALUE_DICT,
    SW_VALUE_EXTENSION,
} sw_value_kind;

typedef struct sw_value sw_value;
typedef struct sw_entry sw_entry;

struct sw_value_list {
    const sw_value *items;
    size_t count;
};

struct sw_value_dict {
    const sw_entry *entries; /* in order; a key twice is MALFORMED */
    size_t count;
};

/* A value of a language's own type, as plain data. */
struct sw_value_extension {
    sw_bytes type; /* "py.int", "py.set", "torch.dtype" … */
    const sw_value *value;
};

struct sw_value {
    sw_value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        sw_bytes bytes; /* TEXT and BLOB */
        sw_tensor_view tensor;
        struct sw_value_list list; /* LIST and TUPLE */
        struct sw_value_dict dict;
        struct sw_value_extension extension;
    };
};

struct sw_entry {
    sw_bytes key;
    sw_value value;
};

/* A payload of metrics is a dict, or a list of dicts (one a microbatch): `[]`, `{}` and `[{}]` are three
 * things. */

static inline sw_bytes sw_text_of(const char *string) {
    sw_bytes bytes = {string, strlen(string)};
    return bytes;
}

static inline sw_value sw_value_of(sw_value_kind kind) {
    sw_value value;
    memset(&value, 0, sizeof value);
    value.kind = kind;
    return value;
}
static inline sw_value sw_null(void) {
    return sw_value_of(SW_VALUE_NULL);
}
static inline sw_value sw_boolean(bool boolean) {
    sw_value value = sw_value_of(SW_VALUE_BOOL);
    value.boolean = boolean;
    return value;
}
static inline sw_value sw_integer(int64_t integer) {
    sw_value value = sw_value_of(SW_VALUE_INTEGER);
    value.integer = integer;
    return value;
}
static inline sw_value sw_number(double number) {
    sw_value value = sw_value_of(SW_VALUE_NUMBER);
    value.number = number;
    return value;
}
static inline sw_value sw_text(const char *string) {
    sw_value value = sw_value_of(SW_VALUE_TEXT);
    value.bytes = sw_text_of(string);
    return value;
}
static inline sw_value sw_dict(const sw_entry *entries, size_t count) {
    sw_value value = sw_value_of(SW_VALUE_DICT);
    value.dict.entries = entries;
    value.dict.count = count;
    return value;
}
static inline sw_value sw_list(const sw_value *items, size_t count) {
    sw_value value = sw_value_of(SW_VALUE_LIST);
    value.list.items = items;
    value.list.count = count;
    return value;
}

/* The value under a key, or NULL; `dict` may be any value. */
static inline const sw_value *sw_dict_get(const sw_value *dict, const char *key) {
    size_t size = strlen(key);
    for (size_t i = 0; dict->kind == SW_VALUE_DICT && i < dict->dict.count; i++) {
        const sw_entry *entry = &dict->dict.entries[i];
        if (entry->key.size == size && memcmp(entry->key.data, key, size) == 0) return &entry->value;
    }
    return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
