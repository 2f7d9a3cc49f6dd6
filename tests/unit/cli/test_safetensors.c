#include "client/cli/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "tests/support/test.h"

static unsigned char *bytes; /* exactly as long as the file, so that a sanitizer sees what lies beyond */
static size_t size;
static struct safetensors file;
static sw_error error;

static void make(const char *header, size_t body) {
    size_t length = strlen(header);
    size = 8 + length + body;
    bytes = calloc(1, size);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < body; i++) bytes[8 + length + i] = (unsigned char)i;
}

static void expect_wrong_bytes(const char *words) {
    cr_assert_eq(safetensors_read(bytes, size, &file, &error), SW_INVALID_ARGUMENT, "%s", words);
    cr_assert(strstr(error.message, words), "no \"%s\" in: %s", words, error.message);
    free(bytes);
}

static void expect_wrong(const char *header, size_t body, const char *words) {
    make(header, body);
    expect_wrong_bytes(words);
}

static void read_good(const char *header, size_t body) {
    make(header, body);
    cr_assert_eq(safetensors_read(bytes, size, &file, &error), SW_OK, "%s", error.message);
}

static void done(void) {
    safetensors_destroy(&file);
    free(bytes);
}

Test(safetensors, tensors_are_views_of_the_file_in_the_order_of_their_bytes) {
    read_good("{\"b\": {\"dtype\": \"U8\", \"shape\": [3], \"data_offsets\": [4, 7]}, "
              "\"a\": {\"dtype\": \"F32\", \"shape\": [], \"data_offsets\": [0, 4]}, "
              "\"__metadata__\": {\"format\": \"pt\"}}  ",
              7);
    cr_assert_eq(file.count, 2);
    cr_assert_str_eq(file.tensors[0].name, "a");
    cr_assert_eq(file.tensors[0].view.dtype, SW_F32);
    cr_assert_eq(file.tensors[0].view.rank, 0);
    cr_assert_str_eq(file.tensors[1].name, "b");
    cr_assert_eq(file.tensors[1].view.size, 3);
    cr_assert_eq(((const char *)file.tensors[1].view.data)[2], 6);
    done();
}

Test(safetensors, no_tensors_and_empty_tensors_are_fine) {
    read_good("{}", 0);
    cr_assert_eq(file.count, 0);
    done();
    read_good("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"e\":{\"dtype\":\"F64\",\"shape\":[4611686018427387,0,7],\"data_offsets\":[0,0]},"
              "\"z\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[1,1]}}",
              1);
    cr_assert_eq(file.count, 3);
    done();
}

Test(safetensors, a_start_that_is_none_is_named) {
    bytes = calloc(1, 7);
    size = 7;
    expect_wrong_bytes("7 bytes are no safetensors file");
    expect_wrong("", 0, "does not begin with '{'");
    expect_wrong(" {}", 0, "does not begin with '{'");
    expect_wrong("[]", 0, "does not begin with '{'");
    make("{}", 0);
    bytes[0] = 3;
    expect_wrong_bytes("the header has 3 bytes, and only 2 follow");
    make("{}", 0);
    memset(bytes, 0xff, 8);
    expect_wrong_bytes("at most 100000000 can be");
    make("{}", 0);
    memcpy(bytes, "\x01\xe1\xf5\x05\0\0\0\0", 8);
    expect_wrong_bytes("has 100000001 bytes");
}

Test(safetensors, a_header_that_is_no_json_object_is_named_with_its_place) {
    expect_wrong("{", 0, "line 1, column 1");
    expect_wrong("{\"a\": 1,}", 0, "no JSON object");
    expect_wrong("{} x", 0, "end of file expected");
    expect_wrong("{}{}", 0, "end of file expected");
    expect_wrong("{\"\xff\": 1}", 0, "no JSON object");
    expect_wrong("{\"a\\u0000\": 1}", 0, "no JSON object");
    expect_wrong("{\"a\":1,\"\\u0061\":1}", 0, "duplicate");
    char deep[10001];
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = 0;
    expect_wrong(deep, 0, "maximum parsing depth");
}

#define TENSOR(rest) "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]" rest
#define WITH(dtype, shape, offsets)                                                                          \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

Test(safetensors, members_must_be_those_of_the_format) {
    expect_wrong("{\"a\":3}", 0, "tensor \"a\": it must be an object");
    expect_wrong("{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2, "\"data_offsets\" is missing");
    expect_wrong("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", 2, "\"shape\" is missing");
    expect_wrong("{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "\"dtype\" is missing");
    expect_wrong(TENSOR(",\"stride\":[1]}}"), 2, "no member \"stride\"");
    expect_wrong(TENSOR(",\"dtype\":\"U8\"}}"), 2, "duplicate");
    expect_wrong("{\"\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, "empty name");
}

Test(safetensors, types_shapes_and_offsets_must_be_possible) {
    expect_wrong(WITH("3", "[2]", "[0,2]"), 2, "\"dtype\" must be a string");
    expect_wrong(WITH("\"u8\"", "[2]", "[0,2]"), 2, "its type \"u8\" is none");
    expect_wrong(WITH("\"F6_E2M3\"", "[4]", "[0,3]"), 3, "its type \"F6_E2M3\" is none");
    expect_wrong(WITH("\"C128\"", "[1]", "[0,16]"), 16, "its type \"C128\" is none");
    expect_wrong(WITH("\"U8\"", "2", "[0,2]"), 2, "\"shape\" must be an array");
    expect_wrong(WITH("\"U8\"", "[2.0]", "[0,2]"), 2, "\"shape\"[0] must be an integer");
    expect_wrong(WITH("\"U8\"", "[1,-2]", "[0,2]"), 2, "\"shape\"[1] must be an integer");
    expect_wrong(WITH("\"U8\"", "[9223372036854775808]", "[0,2]"), 2, "too big integer");
    expect_wrong(WITH("\"U8\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", "[0,2]"), 2, "17 dimensions");
    expect_wrong(WITH("\"U8\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", "[0,2]"), 2, "18 dimensions");
    expect_wrong(WITH("\"U8\"", "[4294967296,4294967296]", "[0,2]"), 2, "more elements than can be");
    expect_wrong(WITH("\"F64\"", "[2305843009213693952]", "[0,2]"), 2, "more elements than can be");
    expect_wrong(WITH("\"U8\"", "[3]", "[0,2]"), 2, "need 3 bytes, and its offsets have 2");
    expect_wrong(WITH("\"U8\"", "[2]", "[0]"), 2, "must be two integers");
    expect_wrong(WITH("\"U8\"", "[2]", "[0,1,2]"), 2, "must be two integers");
    expect_wrong(WITH("\"U8\"", "[2]", "[-1,1]"), 2, "must be two integers");
    expect_wrong(WITH("\"U8\"", "[2]", "[\"0\",2]"), 2, "must be two integers");
    expect_wrong(WITH("\"U8\"", "[2]", "{}"), 2, "must be two integers");
    expect_wrong(WITH("\"U8\"", "[2]", "[2,0]"), 2, "end before they begin");
    expect_wrong(WITH("\"U8\"", "[2]", "[0,2]"), 1, "its bytes end at 2, and the file has 1");
    expect_wrong(WITH("\"F4\"", "[3]", "[0,2]"), 2, "must be even");
    expect_wrong(WITH("\"F4\"", "[]", "[0,1]"), 1, "must be even");
}

#define TWO(a, b)                                                                                            \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" a                                             \
    "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" b "}}"

Test(safetensors, every_byte_belongs_to_one_tensor) {
    expect_wrong(TWO("[0,2]", "[1,3]"), 3, "tensor \"b\": its bytes begin at 1, within those of \"a\"");
    expect_wrong(TWO("[0,2]", "[0,2]"), 2, "within those of");
    expect_wrong(TWO("[0,2]", "[3,5]"), 5, "the bytes from 2 to 3 before it belong to no tensor");
    expect_wrong(TWO("[3,5]", "[1,3]"), 5, "tensor \"b\": the bytes from 0 to 1 before it");
    expect_wrong(TWO("[2,4]", "[0,2]"), 5, "the tensors' bytes end at 4, and the file has 5");
    expect_wrong("{}", 1, "end at 0, and the file has 1");
}

Test(safetensors, metadata_is_text_by_text) {
    expect_wrong("{\"__metadata__\":[]}", 0, "__metadata__ must be an object of strings");
    expect_wrong("{\"__metadata__\":null}", 0, "__metadata__ must be an object of strings");
    expect_wrong("{\"__metadata__\":{\"a\":\"b\",\"n\":1}}", 0, "\"n\" must be a string");
}

#define NOTED(type, dtype, shape, offsets)                                                                   \
    "{\"__metadata__\":{\"stagewire.dtype.a\":\"" type "\",\"stagewire.dtype.other\":\"C128\"},\"a\":"       \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

Test(safetensors, a_type_that_was_noted_is_restored_or_refused) {
    read_good(NOTED("C128", "U8", "[2,16]", "[0,32]"), 32);
    cr_assert_eq(file.tensors[0].view.dtype, SW_C128);
    cr_assert_eq(file.tensors[0].view.rank, 1);
    cr_assert_eq(file.tensors[0].view.shape[0], 2);
    done();
    read_good(NOTED("F8_E8M0FNU", "U8", "[2]", "[0,2]"), 2);
    cr_assert_eq(file.tensors[0].view.dtype, SW_F8_E8M0FNU);
    cr_assert_eq(file.tensors[0].view.rank, 1);
    done();
    expect_wrong(NOTED("C128", "U8", "[2,8]", "[0,16]"), 16, "must be U8 with a last dimension of 16");
    expect_wrong(NOTED("C128", "U8", "[]", "[0,1]"), 1, "must be U8 with a last dimension of 16");
    expect_wrong(NOTED("C128", "F64", "[2]", "[0,16]"), 16, "must be U8");
    expect_wrong(NOTED("C256", "U8", "[32]", "[0,32]"), 32, "\"C256\" in __metadata__ is none");
}

Test(safetensors, names_are_as_long_as_a_tensor_s_may_be) {
    char header[1200], name[514];
    memset(name, 'n', sizeof name - 1);
    for (int length = 512; length <= 513; length++) {
        snprintf(header, sizeof header, "{\"%.*s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}",
                 length, name);
        if (length == 513) {
            expect_wrong(header, 1, "its name has 513 bytes; at most 512 can be");
        } else {
            read_good(header, 1);
            done();
        }
    }
}

/* Every beginning of a file, and every file with one byte changed, is read or refused, and no more. */
Test(safetensors, whatever_is_broken_is_refused) {
    static const char header[] = NOTED("C128", "U8", "[1,16]", "[0,16]");
    for (size_t cut = 0; cut < sizeof header + 23; cut++) {
        make(header, 16);
        unsigned char *shorter = malloc(cut + 1);
        memcpy(shorter, bytes, cut);
        if (cut < size) cr_assert_neq(safetensors_read(shorter, cut, &file, &error), SW_OK);
        free(shorter);
        if (cut < size) bytes[cut] ^= 0x11;
        if (safetensors_read(bytes, size, &file, &error) == SW_OK) safetensors_destroy(&file);
        free(bytes);
    }
}

/* ---- writing ---- */

static struct safetensors_layout layout;

static sw_status lay_out(const sw_named_tensor *tensors, size_t count) {
    return safetensors_lay_out(tensors, count, NULL, 0, &layout, &error);
}

Test(safetensors, larger_elements_come_first_and_the_header_ends_aligned) {
    int64_t three[] = {3}, two[] = {2};
    sw_named_tensor tensors[] = {{.name = "a", .view = {SW_U8, 1, three, NULL, 3}},
                                 {.name = "b", .view = {SW_F64, 1, two, NULL, 16}},
                                 {.name = "c", .view = {SW_U8, 0, NULL, NULL, 1}},
                                 {.name = "d", .view = {SW_F16, 1, three, NULL, 6}}};
    cr_assert_eq(lay_out(tensors, 4), SW_OK, "%s", error.message);
    cr_assert_eq(layout.start_size % 8, 0);
    cr_assert_eq(layout.start[8], '{');
    uint64_t start = layout.start_size;
    cr_assert_eq(layout.offsets[1], start);
    cr_assert_eq(layout.offsets[3], start + 16);
    cr_assert_eq(layout.offsets[0], start + 22);
    cr_assert_eq(layout.offsets[2], start + 25);
    cr_assert_eq(layout.file_size, start + 26);
    char *whole = calloc(1, layout.file_size);
    memcpy(whole, layout.start, layout.start_size);
    cr_assert_eq(safetensors_read(whole, layout.file_size, &file, &error), SW_OK, "%s", error.message);
    cr_assert_eq(file.count, 4);
    cr_assert_str_eq(file.tensors[1].name, "d");
    safetensors_destroy(&file);
    free(whole);
    safetensors_layout_destroy(&layout);
}

Test(safetensors, what_no_file_can_hold_is_refused) {
    int64_t huge[] = {INT64_MAX}, none[] = {0, INT64_MAX};
    sw_named_tensor twice[] = {{.name = "a", .view = {.dtype = SW_U8}},
                               {.name = "a", .view = {.dtype = SW_U8}}};
    cr_assert_eq(lay_out(twice, 2), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "two of this name"));
    sw_named_tensor reserved = {.name = "__metadata__", .view = {.dtype = SW_U8}};
    cr_assert_eq(lay_out(&reserved, 1), SW_INVALID_ARGUMENT);
    sw_named_tensor large = {.name = "a", .view = {SW_U8, 1, huge, NULL, 0}};
    cr_assert_eq(lay_out(&large, 1), SW_INVALID_ARGUMENT);
    sw_named_tensor more = {.name = "a", .view = {SW_F64, 1, huge, NULL, 0}};
    cr_assert_eq(lay_out(&more, 1), SW_INVALID_ARGUMENT);
    sw_named_tensor empty = {.name = "a", .view = {SW_F4_E2M1FN_X2, 2, none, NULL, 0}};
    cr_assert_eq(lay_out(&empty, 1), SW_OK);
    cr_assert(strstr(layout.start + 8, "\"stagewire.dtype.a\":\"F4_E2M1FN_X2\""));
    safetensors_layout_destroy(&layout);
}

Test(safetensors, notes_and_odd_names_are_strict_json) {
    struct safetensors_note notes[] = {{"k\"", "v\n\x01"}};
    sw_named_tensor odd = {.name = "a\"\\\t\xc3\xa4", .view = {.dtype = SW_C128}};
    cr_assert_eq(safetensors_lay_out(&odd, 1, notes, 1, &layout, &error), SW_OK);
    char *whole = calloc(1, layout.file_size);
    memcpy(whole, layout.start, layout.start_size);
    cr_assert_eq(safetensors_read(whole, layout.file_size, &file, &error), SW_OK, "%s", error.message);
    cr_assert_str_eq(file.tensors[0].name, odd.name);
    cr_assert_eq(file.tensors[0].view.dtype, SW_C128);
    safetensors_destroy(&file);
    free(whole);
    safetensors_layout_destroy(&layout);
}
