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
TestSuite(value_malformed, .init = begin, .fini = end);

/* ---- handed in ---- */

static void refuse_value(const char *path, sw_value value) {
    sw_buffer *bytes = NULL;
    struct digest digest = {7, 7};
    sw_error error;
    cr_assert_eq(value_encode(&value, false, &bytes, &digest, &error), SW_INVALID_ARGUMENT, "%s", path);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
    cr_assert_eq(strncmp(error.message, path, strlen(path)), 0, "%s", error.message);
    cr_assert_null(bytes);
    cr_assert_eq(digest.low, 7);
    cr_assert_eq(value_encode(&value, false, &bytes, NULL, NULL), SW_INVALID_ARGUMENT);
}

static sw_value tensor_value(sw_tensor_view tensor) {
    return (sw_value){.kind = SW_VALUE_TENSOR, .tensor = tensor};
}

Test(value_malformed, what_has_no_plain_form_is_refused_with_its_path_before_it_is_sent) {
    const sw_value bad = sw_text("\xc0\x80");
    const sw_entry in_dict[] = {{sw_text_of("grad"), sw_dict((sw_entry[]){{sw_text_of("norm"), bad}}, 1)}};
    const sw_value list[] = {sw_null(), sw_null(), sw_dict(in_dict, 1)};
    refuse_value("value[2].grad.norm", sw_list(list, 3));
    refuse_value("value", (sw_value){.kind = (sw_value_kind)77});
    refuse_value("value", (sw_value){.kind = SW_VALUE_TEXT, .bytes = {NULL, 1}});
    refuse_value("value", (sw_value){.kind = SW_VALUE_BLOB, .bytes = {NULL, 1}});
    refuse_value("value", (sw_value){.kind = SW_VALUE_LIST, .list = {NULL, 1}});
    refuse_value("value", (sw_value){.kind = SW_VALUE_DICT, .dict = {NULL, 1}});
    refuse_value("value", (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"t", 1}, NULL}});
    refuse_value("value", (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {{"\xff", 1}, &list[0]}});
    refuse_value("value.k", sw_dict((sw_entry[]){{sw_text_of("k"), bad}}, 1));
}

Test(value_malformed, tensors_that_do_not_add_up_are_refused) {
    const int64_t shape[] = {2, 3}, negative[] = {-1}, huge[] = {INT64_MAX, 2};
    refuse_value("value", tensor_value((sw_tensor_view){SW_F32, 2, shape, "x", 23}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_F32, 2, shape, "x", 25}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_F32, 2, shape, NULL, 24}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_F32, 2, NULL, "x", 24}));
    refuse_value("value", tensor_value((sw_tensor_view){(sw_dtype)0, 2, shape, "x", 24}));
    refuse_value("value", tensor_value((sw_tensor_view){(sw_dtype)22, 2, shape, "x", 24}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_U8, 1, negative, "x", 0}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_U8, 2, huge, "x", 0}));
    refuse_value("value", tensor_value((sw_tensor_view){SW_U8, 0, NULL, "x", 0}));
}

Test(value_malformed, rank_17_is_refused_for_what_it_is_and_rank_16_is_sent) {
    int64_t shape[17];
    for (int i = 0; i < 17; i++) shape[i] = 1;
    sw_value value = tensor_value((sw_tensor_view){SW_U8, 17, shape, "x", 1});
    sw_buffer *bytes;
    sw_error error;
    refuse_value("value", value);
    cr_assert_eq(value_encode(&value, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "rank 17; at most 16"), "%s", error.message);
    value.tensor.rank = 16;
    cr_assert_eq(value_encode(&value, false, &bytes, NULL, &error), SW_OK, "%s", error.message);
    sw_buffer_unref(bytes);
}

Test(value_malformed, a_key_twice_is_refused_among_few_and_among_many) {
    static sw_entry entries[100];
    static char names[100][3];
    for (size_t i = 0; i < 100; i++) {
        names[i][0] = (char)('a' + i / 10), names[i][1] = (char)('a' + i % 10);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_null()};
    }
    sw_buffer *bytes;
    for (size_t count = 2; count <= 100; count++) {
        sw_value dict = sw_dict(entries, count);
        cr_assert_eq(value_encode(&dict, false, &bytes, NULL, NULL), SW_OK);
        sw_buffer_unref(bytes);
        sw_bytes kept = entries[count - 1].key;
        entries[count - 1].key = entries[count / 3].key;
        char path[] = "value.xx";
        memcpy(path + 6, entries[count / 3].key.data, 2);
        refuse_value(path, dict);
        entries[count - 1].key = kept;
    }
}

Test(value_malformed, keys_that_differ_only_behind_a_nul_are_two_keys) {
    const sw_entry entries[] = {
        {bytes_of("a\0b", 3), sw_null()}, {bytes_of("a\0c", 3), sw_null()}, {bytes_of("a", 1), sw_null()}};
    sw_value dict = sw_dict(entries, 3);
    sw_buffer *bytes;
    cr_assert_eq(value_encode(&dict, false, &bytes, NULL, NULL), SW_OK);
    sw_buffer_unref(bytes);
}

Test(value_malformed, odd_keys_are_told_so_that_they_can_be_read) {
    char long_key[200];
    memset(long_key, 'k', sizeof long_key);
    const sw_value bad = sw_text("\xff");
    sw_entry entry = {sw_text_of(""), bad};
    refuse_value("value[\"\"]", sw_dict(&entry, 1));
    entry.key = bytes_of("a\nb", 3);
    refuse_value("value[\"a\\nb\"]", sw_dict(&entry, 1));
    entry.key = bytes_of("\xff", 1);
    refuse_value("value.\xEF\xBF\xBD", sw_dict(&entry, 1));
    entry.key = bytes_of(long_key, sizeof long_key);
    sw_value dict = sw_dict(&entry, 1);
    sw_buffer *bytes;
    sw_error error;
    cr_assert_eq(value_encode(&dict, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    const char *path = sw_error_metadata(&error, "path");
    cr_assert_lt(strlen(path), 80);
    cr_assert_str_eq(path + strlen(path) - 3, "…");
}

Test(value_malformed, the_path_of_the_deepest_value_is_told_whole) {
    static char keys[16][100];
    sw_value value = sw_text("\xff");
    static sw_entry entries[16];
    for (int i = 0; i < 16; i++) {
        memset(keys[i], 'a' + i, 99);
        entries[i] = (sw_entry){sw_text_of(keys[i]), value};
        value = sw_dict(&entries[i], 1);
    }
    sw_buffer *bytes;
    sw_error error;
    cr_assert_eq(metrics_encode(&value, false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
    const char *path = sw_error_metadata(&error, "path");
    cr_assert_not_null(strstr(path, "metrics.pppp"));
    cr_assert_not_null(strstr(path, "…"));
    cr_assert_not_null(strstr(path, ".aaaa"));
}

Test(value_malformed, metrics_are_a_dict_or_a_list_of_dicts) {
    const sw_value items[] = {sw_dict(NULL, 0), sw_integer(1)};
    const sw_value values[] = {sw_null(),
                               sw_list(items, 2),
                               {.kind = SW_VALUE_TUPLE, .list = {items, 1}},
                               {.kind = SW_VALUE_LIST, .list = {NULL, 1}}};
    const char *const paths[] = {"metrics", "metrics[1]", "metrics", "metrics"};
    for (int i = 0; i < 4; i++) {
        sw_buffer *bytes;
        sw_error error;
        cr_assert_eq(metrics_encode(&values[i], false, &bytes, NULL, &error), SW_INVALID_ARGUMENT);
        cr_assert_str_eq(sw_error_metadata(&error, "path"), paths[i]);
    }
}

/* ---- received ---- */

typedef sw_status decoder(const void *, size_t, struct arena *, const sw_value **, sw_error *);

static void refuse_bytes(decoder *decode, const char *path, const uint8_t *data, size_t size) {
    const sw_value *value = NULL;
    sw_error error;
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    cr_assert_eq(decode(exact, size, &arena, &value, &error), SW_INVALID_ARGUMENT, "%s", path);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
    cr_assert_null(value);
    cr_assert_eq(decode(exact, size, &arena, &value, NULL), SW_INVALID_ARGUMENT);
    free(exact);
}

Test(value_malformed, a_value_without_a_kind_or_with_an_unknown_one_is_refused) {
    refuse_bytes(value_decode, "value", (const uint8_t *)"", 0);
    refuse_bytes(value_decode, "value", BYTES(0x60, 0x01));             /* kind 12 */
    refuse_bytes(value_decode, "value", BYTES(0x08, 0x00, 0x10, 0x01)); /* two kinds */
    refuse_bytes(value_decode, "value[1]", BYTES(0x42, 0x06, 0x0a, 0x02, 0x08, 0x00, 0x0a, 0x00));
    refuse_bytes(value_decode, "value.a", BYTES(0x52, 0x05, 0x0a, 0x03, 0x0a, 0x01, 'a')); /* no value */
    refuse_bytes(value_decode, "value.a", BYTES(0x52, 0x07, 0x0a, 0x05, 0x0a, 0x01, 'a', 0x12, 0x00));
    refuse_bytes(value_decode, "value[\"\"]", BYTES(0x52, 0x02, 0x0a, 0x00)); /* no key, no value */
    refuse_bytes(value_decode, "value", BYTES(0x5a, 0x03, 0x0a, 0x01, 't'));  /* extension of nothing */
}

Test(value_malformed, wire_types_other_than_a_fields_own_are_refused) {
    refuse_bytes(value_decode, "value", BYTES(0x0a, 0x00));                         /* null as bytes */
    refuse_bytes(value_decode, "value", BYTES(0x20, 0x00));                         /* double as varint */
    refuse_bytes(value_decode, "value", BYTES(0x28, 0x00));                         /* text as varint */
    refuse_bytes(value_decode, "value[0]", BYTES(0x42, 0x02, 0x08, 0x00));          /* an item as varint */
    refuse_bytes(value_decode, "value", BYTES(0x52, 0x02, 0x08, 0x00));             /* an entry as varint */
    refuse_bytes(value_decode, "value", BYTES(0x52, 0x04, 0x0a, 0x02, 0x08, 0x00)); /* a key as varint */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x02, 0x0a, 0x00));             /* a dtype as bytes */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x05, 0x15, 0, 0, 0, 0)); /* a dimension as fixed32 */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x02, 0x18, 0x00));       /* data as varint */
    refuse_bytes(value_decode, "value", BYTES(0x0b, 0x0c));                   /* a group */
    refuse_bytes(value_decode, "value", BYTES(0x02, 0x00));                   /* field 0 */
}

Test(value_malformed, tags_and_lengths_of_more_than_five_bytes_are_refused_as_protobuf_c_does) {
    static const uint8_t tag[] = {0x98, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01};
    static const uint8_t length[] = {0x2a, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 'x'};
    refuse_bytes(value_decode, "value", tag, sizeof tag);
    refuse_bytes(value_decode, "value", length, sizeof length);
}

Test(value_malformed, texts_that_are_not_utf8_are_refused) {
    refuse_bytes(value_decode, "value", BYTES(0x2a, 0x01, 0xff));
    refuse_bytes(value_decode, "value", BYTES(0x2a, 0x03, 0xed, 0xa0, 0x80));
    refuse_bytes(value_decode, "value.\xEF\xBF\xBD",
                 BYTES(0x52, 0x09, 0x0a, 0x07, 0x0a, 0x01, 0x80, 0x12, 0x02, 0x08, 0x00));
    refuse_bytes(value_decode, "value", BYTES(0x5a, 0x07, 0x0a, 0x01, 0xff, 0x12, 0x02, 0x08, 0x00));
}

Test(value_malformed, a_key_twice_on_the_wire_is_refused) {
    refuse_bytes(value_decode, "value.a",
                 BYTES(0x52, 0x12, 0x0a, 0x07, 0x0a, 0x01, 'a', 0x12, 0x02, 0x08, 0x00, 0x0a, 0x07, 0x0a,
                       0x01, 'a', 0x12, 0x02, 0x10, 0x01));
    refuse_bytes(value_decode, "value",
                 BYTES(0x52, 0x0c, 0x0a, 0x0a, 0x0a, 0x01, 'a', 0x0a, 0x01, 'a', 0x12, 0x02, 0x08, 0x00));
}

Test(value_malformed, tensors_on_the_wire_must_add_up) {
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x00));             /* no type */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x02, 0x08, 0x16)); /* type 22 */
    refuse_bytes(value_decode, "value",
                 BYTES(0x3a, 0x07, 0x08, 0x81, 0x80, 0x80, 0x80, 0x10, 0x00)); /* 2^32 + 1 */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x02, 0x08, 0x02));        /* a scalar of 0 bytes */
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x07, 0x08, 0x02, 0x12, 0x01, 0x02, 0x1a, 0x00));
    refuse_bytes(value_decode, "value", BYTES(0x3a, 0x04, 0x12, 0x02, 0x02, 0x80)); /* a cut dimension */
    refuse_bytes(
        value_decode, "value",
        BYTES(0x3a, 0x15, 0x08, 0x02, 0x12, 0x11, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
}

Test(value_malformed, metrics_on_the_wire_have_one_shape) {
    refuse_bytes(metrics_decode, "metrics", (const uint8_t *)"", 0);
    refuse_bytes(metrics_decode, "metrics", BYTES(0x1a, 0x00));
    refuse_bytes(metrics_decode, "metrics", BYTES(0x0a, 0x00, 0x12, 0x00));
    refuse_bytes(metrics_decode, "metrics", BYTES(0x08, 0x00));
    refuse_bytes(metrics_decode, "metrics[0]", BYTES(0x12, 0x02, 0x08, 0x00));
    refuse_bytes(metrics_decode, "metrics[1].a",
                 BYTES(0x12, 0x09, 0x0a, 0x00, 0x0a, 0x05, 0x0a, 0x03, 0x0a, 0x01, 'a'));
}

Test(value_malformed, a_cut_message_is_refused_wherever_it_is_cut) {
    sw_buffer *bytes;
    cr_assert_eq(metrics_encode(every_kind(), false, &bytes, NULL, NULL), SW_OK);
    const uint8_t *data = sw_buffer_data(bytes);
    for (size_t size = 1; size < sw_buffer_size(bytes); size++) {
        uint8_t *exact = malloc(size);
        const sw_value *value;
        sw_error error;
        memcpy(exact, data, size);
        cr_assert_eq(metrics_decode(exact, size, &arena, &value, &error), SW_INVALID_ARGUMENT, "%zu", size);
        cr_assert_eq(error.reason, SW_REASON_MALFORMED);
        free(exact);
        end();
        begin();
    }
    sw_buffer_unref(bytes);
}

Test(value_malformed, other_protobuf_writers_are_understood) {
    const sw_value *value;
    /* a shape that is not packed, data before type, fields that nobody knows of every wire type */
    const uint8_t tensor[] = {0x3a, 0x0e, 0x1a, 0x02, 'a',  'b',  0x10, 0x01,
                              0x08, 0x02, 0x10, 0x02, 0x78, 0x00, 0x10, 0x01};
    cr_assert_eq(value_decode(tensor, sizeof tensor, &arena, &value, NULL), SW_OK);
    cr_assert_eq(value->tensor.rank, 3);
    cr_assert_eq(value->tensor.shape[1], 2);
    cr_assert_eq(memcmp(value->tensor.data, "ab", 2), 0);
    const uint8_t unknown[] = {0x78, 0x00, 0x79, 0,    0,    0,    0, 0, 0, 0, 0,
                               0x7a, 0x01, 'x',  0x18, 0x05, 0x7d, 0, 0, 0, 0};
    cr_assert_eq(value_decode(unknown, sizeof unknown, &arena, &value, NULL), SW_OK);
    cr_assert_eq(value->integer, 5);
    /* an entry with its value first, and one whose empty key is left out */
    const uint8_t entries[] = {0x52, 0x0f, 0x0a, 0x07, 0x12, 0x02, 0x10, 0x01, 0x0a,
                               0x01, 'b',  0x0a, 0x04, 0x12, 0x02, 0x08, 0x00};
    cr_assert_eq(value_decode(entries, sizeof entries, &arena, &value, NULL), SW_OK);
    cr_assert(sw_dict_get(value, "b")->boolean);
    cr_assert_eq(sw_dict_get(value, "")->kind, SW_VALUE_NULL);
    cr_assert_null(sw_dict_get(value, "c"));
}
