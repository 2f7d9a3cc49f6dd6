#include <stdlib.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"
#include "tests/unit/wire/values.h"

static struct arena arena;

static void begin(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
}
static void end(void) {
    arena_destroy(&arena);
}
TestSuite(value_digest, .init = begin, .fini = end);

Test(value_digest, it_is_that_of_the_decoded_value) {
    for (unsigned seed = 1; seed <= 500; seed++) {
        const sw_value *value = random_metrics(&arena, seed, 30), *decoded;
        sw_buffer *bytes;
        struct digest digest;
        cr_assert_eq(metrics_encode(value, false, &bytes, &digest, NULL), SW_OK);
        cr_assert_eq(metrics_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &decoded, NULL),
                     SW_OK);
        cr_assert(digest_equal(digest, value_digest(decoded)), "seed %u", seed);
        cr_assert(value_same(value, decoded));
        sw_buffer_unref(bytes);
        end();
        begin();
    }
}

static void reverse(sw_value *value) {
    if (value->kind != SW_VALUE_DICT) return;
    sw_entry *entries = (sw_entry *)value->dict.entries;
    for (size_t i = 0, j = value->dict.count; i + 1 < j; i++) {
        sw_entry kept = entries[i];
        entries[i] = entries[--j];
        entries[j] = kept;
    }
    for (size_t i = 0; i < value->dict.count; i++) reverse(&entries[i].value);
}

Test(value_digest, the_order_of_a_dict_is_ignored_at_every_depth) {
    for (unsigned seed = 1; seed <= 500; seed++) {
        sw_value *value = (sw_value *)random_metrics(&arena, seed, 60);
        struct digest before = value_digest(value);
        reverse(value);
        cr_assert(digest_equal(before, value_digest(value)), "seed %u", seed);
        end();
        begin();
    }
}

static const sw_value one = {.kind = SW_VALUE_INTEGER, .integer = 1},
                      two = {.kind = SW_VALUE_INTEGER, .integer = 2};

static sw_value tensor_of(sw_dtype dtype, uint32_t rank, const int64_t *shape, const char *data,
                          size_t size) {
    return (sw_value){.kind = SW_VALUE_TENSOR, .tensor = {dtype, rank, shape, data, size}};
}

/* Values that look alike and are not the same. */
static size_t lookalikes(sw_value *out) {
    static const int64_t shapes[][2] = {{1, 2}, {2, 1}, {0, 5}, {5, 0}};
    static const int64_t single = 1;
    static sw_value pairs[8];
    static sw_value nested_lists[4];
    static sw_entry entries[8];
    size_t n = 0;
    out[n++] = sw_null();
    out[n++] = sw_boolean(false);
    out[n++] = sw_boolean(true);
    out[n++] = sw_integer(0);
    out[n++] = one;
    out[n++] = sw_integer(-1);
    out[n++] = number_of_bits(0);
    out[n++] = number_of_bits(1);
    out[n++] = sw_number(1);
    out[n++] = number_of_bits(UINT64_C(1) << 63);
    out[n++] = number_of_bits(UINT64_C(0x7ff8000000000000));
    out[n++] = number_of_bits(UINT64_C(0x7ff8000000000001));
    out[n++] = number_of_bits(UINT64_C(0xfff8000000000000));
    out[n++] = sw_text("");
    out[n++] = sw_text("1");
    out[n++] = (sw_value){.kind = SW_VALUE_TEXT, .bytes = {"1\0", 2}};
    out[n++] = (sw_value){.kind = SW_VALUE_TEXT, .bytes = {"\0", 1}};
    out[n++] = blob_of("", 0);
    out[n++] = blob_of("1", 1);
    out[n++] = blob_of("\0", 1);
    out[n++] = blob_of("\0\0", 2);
    out[n++] = tensor_of(SW_U8, 1, &single, "1", 1);
    out[n++] = tensor_of(SW_I8, 0, NULL, "1", 1);
    out[n++] = tensor_of(SW_U8, 0, NULL, "1", 1);
    out[n++] = tensor_of(SW_U8, 0, NULL, "2", 1);
    for (int i = 0; i < 4; i++) out[n++] = tensor_of(SW_U8, 2, shapes[i], "12", i < 2 ? 2 : 0);
    pairs[0] = one, pairs[1] = two, pairs[2] = two, pairs[3] = one;
    out[n++] = sw_list(NULL, 0);
    out[n++] = (sw_value){.kind = SW_VALUE_TUPLE};
    out[n++] = sw_dict(NULL, 0);
    out[n++] = sw_list(pairs, 1);
    out[n++] = sw_list(pairs, 2);
    out[n++] = sw_list(pairs + 2, 2);
    out[n++] = (sw_value){.kind = SW_VALUE_TUPLE, .list = {pairs, 2}};
    nested_lists[0] = sw_list(pairs, 2), nested_lists[1] = sw_list(NULL, 0);
    nested_lists[2] = sw_list(pairs, 1), nested_lists[3] = sw_list(pairs + 1, 1);
    out[n++] = sw_list(nested_lists, 1);
    out[n++] = sw_list(nested_lists, 2);
    out[n++] = sw_list(nested_lists + 2, 2);
    out[n++] = sw_list(nested_lists + 1, 1);
    entries[0] = (sw_entry){sw_text_of("a"), one}, entries[1] = (sw_entry){sw_text_of("b"), two};
    entries[2] = (sw_entry){sw_text_of("a"), two}, entries[3] = (sw_entry){sw_text_of("b"), one};
    entries[4] = (sw_entry){sw_text_of(""), one}, entries[5] = (sw_entry){sw_text_of("a"), sw_null()};
    out[n++] = sw_dict(entries, 1);
    out[n++] = sw_dict(entries, 2);
    out[n++] = sw_dict(entries + 2, 2);
    out[n++] = sw_dict(entries + 4, 1);
    out[n++] = sw_dict(entries + 4, 2);
    out[n++] = sw_dict(entries + 5, 1);
    out[n++] = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"a", 1}, &one}};
    out[n++] = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"a", 1}, &two}};
    out[n++] = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"b", 1}, &one}};
    out[n++] = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"", 0}, &one}};
    return n;
}

Test(value_digest, values_that_look_alike_are_told_apart) {
    static sw_value values[64];
    size_t count = lookalikes(values);
    for (size_t i = 0; i < count; i++) {
        cr_assert(value_same(&values[i], &values[i]));
        for (size_t j = 0; j < i; j++) cr_assert_not(value_same(&values[i], &values[j]), "%zu and %zu", i, j);
    }
}

Test(value_digest, long_contents_count_to_their_last_byte) {
    char text[3][200];
    memset(text, 'x', sizeof text);
    text[1][199] = 'y';
    for (size_t size = 1; size <= 200; size++) {
        sw_value a = blob_of(text[0], size), b = blob_of(text[1], size), c = blob_of(text[2], size),
                 d = blob_of(text[0], size - 1);
        cr_assert(value_same(&a, &c));
        cr_assert_not(value_same(&a, &d));
        cr_assert_eq(value_same(&a, &b), size < 200);
    }
}
