#include "tests/unit/wire/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool bytes_identical(const void *a, size_t a_size, const void *b, size_t b_size) {
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static bool dicts_identical(const sw_value *a, const sw_value *b) {
    if (a->dict.count != b->dict.count) return false;
    for (size_t i = 0; i < a->dict.count; i++) {
        const sw_entry *x = &a->dict.entries[i], *y = &b->dict.entries[i];
        if (!bytes_identical(x->key.data, x->key.size, y->key.data, y->key.size)) return false;
        if (!values_identical(&x->value, &y->value)) return false;
    }
    return true;
}

static bool lists_identical(const sw_value *a, const sw_value *b) {
    if (a->list.count != b->list.count) return false;
    for (size_t i = 0; i < a->list.count; i++) {
        if (!values_identical(&a->list.items[i], &b->list.items[i])) return false;
    }
    return true;
}

static bool tensors_identical(const sw_tensor_view *a, const sw_tensor_view *b) {
    return a->dtype == b->dtype &&
           bytes_identical(a->shape, a->rank * sizeof *a->shape, b->shape, b->rank * sizeof *b->shape) &&
           bytes_identical(a->data, a->size, b->data, b->size);
}

bool values_identical(const sw_value *a, const sw_value *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case SW_VALUE_NULL:
        return true;
    case SW_VALUE_BOOL:
        return a->boolean == b->boolean;
    case SW_VALUE_INTEGER:
        return a->integer == b->integer;
    case SW_VALUE_NUMBER:
        return memcmp(&a->number, &b->number, sizeof a->number) == 0;
    case SW_VALUE_TEXT:
    case SW_VALUE_BLOB:
        return bytes_identical(a->bytes.data, a->bytes.size, b->bytes.data, b->bytes.size);
    case SW_VALUE_TENSOR:
        return tensors_identical(&a->tensor, &b->tensor);
    case SW_VALUE_LIST:
    case SW_VALUE_TUPLE:
        return lists_identical(a, b);
    case SW_VALUE_DICT:
        return dicts_identical(a, b);
    case SW_VALUE_EXTENSION:
        return bytes_identical(a->extension.type.data, a->extension.type.size, b->extension.type.data,
                               b->extension.type.size) &&
               values_identical(a->extension.value, b->extension.value);
    }
    return false;
}

sw_value number_of_bits(uint64_t bits) {
    sw_value value = {.kind = SW_VALUE_NUMBER};
    memcpy(&value.number, &bits, sizeof bits);
    return value;
}

sw_value blob_of(const char *data, size_t size) {
    return (sw_value){.kind = SW_VALUE_BLOB, .bytes = {data, size}};
}

sw_bytes bytes_of(const char *data, size_t size) {
    return (sw_bytes){data, size};
}

static const int64_t matrix_shape[] = {2, 3}, empty_shape[] = {4, 0, 7},
                     long_shape[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static sw_value tensor_of(sw_dtype dtype, uint32_t rank, const int64_t *shape, const void *data,
                          size_t size) {
    return (sw_value){.kind = SW_VALUE_TENSOR, .tensor = {dtype, rank, shape, data, size}};
}

const sw_value *every_kind(void) {
    static const sw_value numbers[] = {{.kind = SW_VALUE_INTEGER, .integer = 1}, {.kind = SW_VALUE_NULL}};
    static const sw_value inner = {.kind = SW_VALUE_TEXT, .bytes = {"123456789012345678901234567890", 30}};
    static const sw_entry inner_entries[] = {{{"", 0}, {.kind = SW_VALUE_BOOL, .boolean = true}}};
    static sw_entry entries[32];
    size_t n = 0;
#define ADD(key, ...) entries[n++] = (sw_entry){bytes_of(key, sizeof(key) - 1), __VA_ARGS__}
    ADD("null", sw_null());
    ADD("false", sw_boolean(false));
    ADD("true", sw_boolean(true));
    ADD("zero", sw_integer(0));
    ADD("smallest", sw_integer(INT64_MIN));
    ADD("largest", sw_integer(INT64_MAX));
    ADD("loss", sw_number(0.25));
    ADD("minus zero", number_of_bits(UINT64_C(0x8000000000000000)));
    ADD("infinity", number_of_bits(UINT64_C(0x7ff0000000000000)));
    ADD("-infinity", number_of_bits(UINT64_C(0xfff0000000000000)));
    ADD("quiet nan", number_of_bits(UINT64_C(0x7ff80000deadbeef)));
    ADD("signalling nan", number_of_bits(UINT64_C(0xfff0000000000001)));
    ADD("empty text", sw_text(""));
    ADD("text", sw_text("損失 📉"));
    ADD("text with nul", {.kind = SW_VALUE_TEXT, .bytes = {"a\0b\0", 4}});
    ADD("empty blob", blob_of("", 0));
    ADD("blob", blob_of("\xff\x00\x80", 3));
    ADD("scalar", tensor_of(SW_F64, 0, NULL, "12345678", 8));
    ADD("matrix", tensor_of(SW_BF16, 2, matrix_shape, "abcdefghijkl", 12));
    ADD("empty tensor", tensor_of(SW_F32, 3, empty_shape, NULL, 0));
    ADD("rank 16", tensor_of(SW_U8, 16, long_shape, "x", 1));
    ADD("empty list", sw_list(NULL, 0));
    ADD("list", sw_list(numbers, 2));
    ADD("empty tuple", {.kind = SW_VALUE_TUPLE});
    ADD("tuple", {.kind = SW_VALUE_TUPLE, .list = {numbers, 2}});
    ADD("empty dict", sw_dict(NULL, 0));
    ADD("dict", sw_dict(inner_entries, 1));
    ADD("extension", {.kind = SW_VALUE_EXTENSION, .extension = {{"py.int", 6}, &inner}});
    ADD("nul\0in key", sw_integer(-1));
    ADD("", sw_text("an empty key"));
#undef ADD
    static sw_value all;
    all = sw_dict(entries, n);
    return &all;
}

const sw_value *nested(unsigned depth) {
    static sw_value values[33];
    static sw_entry entries[33];
    values[0] = sw_null();
    for (unsigned i = 1; i <= depth; i++) {
        const sw_value *inner = &values[i - 1];
        entries[i] = (sw_entry){sw_text_of("k"), *inner};
        switch ((depth - i) % 4) {
        case 0:
            values[i] = sw_dict(&entries[i], 1);
            break;
        case 1:
            values[i] = sw_list(inner, 1);
            break;
        case 2:
            values[i] = (sw_value){.kind = SW_VALUE_TUPLE, .list = {inner, 1}};
            break;
        case 3:
            values[i] = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"t", 1}, inner}};
            break;
        }
    }
    return &values[depth];
}

/* ---- random values ---- */

struct dice {
    unsigned state;
};

static unsigned roll(struct dice *dice, unsigned sides) {
    dice->state = dice->state * 1103515245u + 12345u;
    return (dice->state >> 16) % sides;
}

static sw_bytes random_text(struct arena *arena, struct dice *dice) {
    static const char *const parts[] = {"a", "\0", "ß", "損", "📉", ".", "[0]", "loss", " ", "\"\\\n"};
    static const size_t sizes[] = {1, 1, 2, 3, 4, 1, 3, 4, 1, 3};
    char text[64];
    size_t size = 0;
    for (unsigned i = roll(dice, 8); i > 0; i--) {
        unsigned part = roll(dice, 10);
        memcpy(text + size, parts[part], sizes[part]);
        size += sizes[part];
    }
    return bytes_of(arena_string(arena, text, size), size);
}

static uint64_t random_bits(struct dice *dice) {
    uint64_t bits = 0;
    for (int i = 0; i < 5; i++) bits = bits << 15 ^ roll(dice, 1u << 15);
    return bits >> roll(dice, 64);
}

static void fill_random(struct arena *arena, struct dice *dice, unsigned size, unsigned depth, sw_value *out);

static void fill_random_list(struct arena *arena, struct dice *dice, unsigned size, unsigned depth,
                             sw_value *out) {
    size_t count = size < 2 ? 0 : roll(dice, size);
    sw_value *items = arena_get_array(arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) fill_random(arena, dice, size / (unsigned)count, depth + 1, &items[i]);
    out->list.items = items;
    out->list.count = count;
}

static void fill_random_dict(struct arena *arena, struct dice *dice, unsigned size, unsigned depth,
                             sw_value *out) {
    size_t count = size < 2 ? 0 : roll(dice, size);
    sw_entry *entries = arena_get_array(arena, count, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        char key[96];
        sw_bytes odd = random_text(arena, dice);
        int digits = snprintf(key, sizeof key, "%zu", i);
        memcpy(key + digits, odd.data, odd.size);
        entries[i].key =
            bytes_of(arena_string(arena, key, (size_t)digits + odd.size), (size_t)digits + odd.size);
        fill_random(arena, dice, size / (unsigned)count, depth + 1, &entries[i].value);
    }
    *out = sw_dict(entries, count);
}

static sw_value random_tensor(struct arena *arena, struct dice *dice) {
    sw_value value = {.kind = SW_VALUE_TENSOR};
    value.tensor.dtype = (sw_dtype)(1 + roll(dice, 21));
    value.tensor.rank = roll(dice, 5);
    int64_t *shape = arena_get_array(arena, value.tensor.rank, sizeof *shape);
    for (uint32_t i = 0; i < value.tensor.rank; i++) shape[i] = roll(dice, 4);
    uint64_t bytes;
    if (!sw_tensor_bytes(value.tensor.dtype, value.tensor.rank, shape, &bytes)) abort();
    uint8_t *data = arena_get(arena, bytes);
    for (uint64_t i = 0; i < bytes; i++) data[i] = (uint8_t)roll(dice, 256);
    value.tensor.shape = shape;
    value.tensor.data = data;
    value.tensor.size = bytes;
    return value;
}

static void fill_random(struct arena *arena, struct dice *dice, unsigned size, unsigned depth,
                        sw_value *out) {
    sw_value_kind kind = (sw_value_kind)roll(dice, depth < SW_VALUE_DEPTH_MAX ? 11 : 7);
    *out = (sw_value){.kind = kind};
    switch (kind) {
    case SW_VALUE_NULL:
        break;
    case SW_VALUE_BOOL:
        out->boolean = roll(dice, 2);
        break;
    case SW_VALUE_INTEGER:
        out->integer = (int64_t)random_bits(dice);
        break;
    case SW_VALUE_NUMBER:
        *out = number_of_bits(random_bits(dice));
        break;
    case SW_VALUE_TEXT:
    case SW_VALUE_BLOB:
        out->bytes = random_text(arena, dice);
        break;
    case SW_VALUE_TENSOR:
        *out = random_tensor(arena, dice);
        break;
    case SW_VALUE_LIST:
    case SW_VALUE_TUPLE:
        fill_random_list(arena, dice, size, depth, out);
        break;
    case SW_VALUE_DICT:
        fill_random_dict(arena, dice, size, depth, out);
        break;
    case SW_VALUE_EXTENSION: {
        sw_value *inner = arena_get(arena, sizeof *inner);
        fill_random(arena, dice, size / 2, depth + 1, inner);
        out->extension.type = random_text(arena, dice);
        out->extension.value = inner;
        break;
    }
    }
}

const sw_value *random_value(struct arena *arena, unsigned seed, unsigned size) {
    struct dice dice = {seed};
    sw_value *value = arena_get(arena, sizeof *value);
    roll(&dice, 1);
    fill_random(arena, &dice, size, 0, value);
    return value;
}

const sw_value *random_metrics(struct arena *arena, unsigned seed, unsigned size) {
    struct dice dice = {seed};
    sw_value *value = arena_get(arena, sizeof *value);
    if (roll(&dice, 2) == 0) {
        fill_random_dict(arena, &dice, size, 0, value);
        return value;
    }
    size_t count = roll(&dice, 5);
    sw_value *items = arena_get_array(arena, count, sizeof *items);
    for (size_t i = 0; i < count; i++) fill_random_dict(arena, &dice, size / 4, 0, &items[i]);
    *value = sw_list(items, count);
    return value;
}
