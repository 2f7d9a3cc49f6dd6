#include <math.h>
#include <string.h>

#include <stagewire/pipeline.h>

#include "tests/support/test.h"

static sw_materialized *copy;

static const sw_value *materialized(const sw_value *metrics) {
    sw_error error;
    sw_status status = sw_pipeline_materialize_loss_metrics_for_object_broadcast(metrics, &copy, &error);
    cr_assert_eq(status, SW_OK, "%s", error.message);
    return sw_materialized_value(copy);
}

static sw_value tensor_of(sw_dtype dtype, uint32_t rank, const int64_t *shape, const void *data,
                          size_t size) {
    return (sw_value){.kind = SW_VALUE_TENSOR, .tensor = {dtype, rank, shape, data, size}};
}

/* What one scalar tensor of `dtype` becomes. */
static sw_value scalar_of(sw_dtype dtype, const void *data) {
    sw_entry entry = {sw_text_of("x"), tensor_of(dtype, 0, NULL, data, sw_dtype_size(dtype))};
    sw_value dict = sw_dict(&entry, 1);
    sw_value value = *sw_dict_get(materialized(&dict), "x");
    if (value.kind != SW_VALUE_EXTENSION) sw_materialized_destroy(copy);
    return value;
}

#define expect_number(dtype, bits_type, bits, expected)                                                      \
    do {                                                                                                     \
        bits_type pattern = bits;                                                                            \
        sw_value value = scalar_of(dtype, &pattern);                                                         \
        cr_assert_eq(value.kind, SW_VALUE_NUMBER);                                                           \
        cr_assert(value.number == (expected) || (isnan(expected) && isnan(value.number)), "%s %x: %f",       \
                  #dtype, (unsigned)pattern, value.number);                                                  \
    } while (0)
#define expect_integer(dtype, type, bits)                                                                    \
    do {                                                                                                     \
        type pattern = bits;                                                                                 \
        sw_value value = scalar_of(dtype, &pattern);                                                         \
        cr_assert_eq(value.kind, SW_VALUE_INTEGER);                                                          \
        cr_assert_eq(value.integer, (int64_t)pattern);                                                       \
    } while (0)

Test(materialize, integer_types_become_integers) {
    expect_integer(SW_U8, uint8_t, 255);
    expect_integer(SW_I8, int8_t, -128);
    expect_integer(SW_U16, uint16_t, 65535);
    expect_integer(SW_I16, int16_t, -32768);
    expect_integer(SW_U32, uint32_t, UINT32_MAX);
    expect_integer(SW_I32, int32_t, INT32_MIN);
    expect_integer(SW_U64, uint64_t, INT64_MAX);
    expect_integer(SW_I64, int64_t, INT64_MIN);
}

Test(materialize, an_unsigned_integer_beyond_int64_is_an_extension) {
    uint64_t big = UINT64_MAX;
    sw_value value = scalar_of(SW_U64, &big);
    cr_assert_eq(value.kind, SW_VALUE_EXTENSION);
    cr_assert_eq(value.extension.type.size, 6);
    cr_assert_eq(memcmp(value.extension.type.data, "py.int", 6), 0);
    cr_assert_eq(value.extension.value->bytes.size, 20);
    cr_assert_eq(memcmp(value.extension.value->bytes.data, "18446744073709551615", 20), 0);
    sw_materialized_destroy(copy);
}

Test(materialize, a_bool_becomes_a_bool) {
    uint8_t yes = 1, no = 0;
    sw_value value = scalar_of(SW_BOOL, &yes);
    cr_assert(value.kind == SW_VALUE_BOOL && value.boolean);
    value = scalar_of(SW_BOOL, &no);
    cr_assert(value.kind == SW_VALUE_BOOL && !value.boolean);
}

Test(materialize, floating_types_become_numbers) {
    expect_number(SW_F16, uint16_t, 0x3c01, 1.0009765625);
    expect_number(SW_F16, uint16_t, 0x0001, ldexp(1, -24));
    expect_number(SW_F16, uint16_t, 0xfc00, -INFINITY);
    expect_number(SW_F16, uint16_t, 0x7e00, NAN);
    expect_number(SW_BF16, uint16_t, 0xc049, -3.140625);
    expect_number(SW_BF16, uint16_t, 0x7f80, INFINITY);
    expect_number(SW_F8_E4M3FN, uint8_t, 0x7e, 448.0);
    expect_number(SW_F8_E4M3FN, uint8_t, 0x01, ldexp(1, -9));
    expect_number(SW_F8_E4M3FN, uint8_t, 0x7f, NAN);
    expect_number(SW_F8_E5M2, uint8_t, 0x7b, 57344.0);
    expect_number(SW_F8_E5M2, uint8_t, 0xfc, -INFINITY);
    expect_number(SW_F8_E4M3FNUZ, uint8_t, 0x7f, 240.0);
    expect_number(SW_F8_E4M3FNUZ, uint8_t, 0x80, NAN);
    expect_number(SW_F8_E5M2FNUZ, uint8_t, 0x7f, 57344.0);
    expect_number(SW_F8_E5M2FNUZ, uint8_t, 0x80, NAN);
    expect_number(SW_F8_E8M0FNU, uint8_t, 0x80, 2.0);
    expect_number(SW_F8_E8M0FNU, uint8_t, 0xff, NAN);
    float f = 0.1f;
    cr_assert_eq(scalar_of(SW_F32, &f).number, (double)0.1f);
    double d = -0.0;
    cr_assert(signbit(scalar_of(SW_F64, &d).number));
}

Test(materialize, one_element_of_any_shape_is_a_scalar_and_others_stay_tensors) {
    const int64_t ones[] = {1, 1, 1}, two[] = {2}, none[] = {0, 5};
    float elements[] = {1.5f, 2.5f};
    double complex_one[2] = {1, 2};
    uint8_t pair = 0x12;
    sw_entry entries[] = {
        {sw_text_of("ones"), tensor_of(SW_F32, 3, ones, elements, 4)},
        {sw_text_of("two"), tensor_of(SW_F32, 1, two, elements, 8)},
        {sw_text_of("none"), tensor_of(SW_F32, 2, none, NULL, 0)},
        {sw_text_of("complex"), tensor_of(SW_C128, 0, NULL, complex_one, 16)},
        {sw_text_of("pair"), tensor_of(SW_F4_E2M1FN_X2, 1, ones, &pair, 1)},
    };
    sw_value dict = sw_dict(entries, 5);
    const sw_value *value = materialized(&dict);
    cr_assert_eq(sw_dict_get(value, "ones")->number, 1.5);
    cr_assert_eq(sw_dict_get(value, "two")->kind, SW_VALUE_TENSOR);
    cr_assert_eq(sw_dict_get(value, "none")->kind, SW_VALUE_TENSOR);
    cr_assert_eq(sw_dict_get(value, "complex")->kind, SW_VALUE_TENSOR);
    cr_assert_eq(sw_dict_get(value, "pair")->kind, SW_VALUE_TENSOR);
    sw_materialized_destroy(copy);
}

Test(materialize, the_callers_dict_is_untouched_and_only_its_own_values_are_looked_at) {
    float element = 3;
    sw_value tensor = tensor_of(SW_F32, 0, NULL, &element, 4);
    sw_entry nested = {sw_text_of("inner"), tensor};
    sw_entry entries[] = {{sw_text_of("z"), tensor},
                          {sw_text_of("dict"), sw_dict(&nested, 1)},
                          {sw_text_of("a"), sw_text("t")}};
    sw_value dict = sw_dict(entries, 3);
    const sw_value *value = materialized(&dict);
    cr_assert_eq(entries[0].value.kind, SW_VALUE_TENSOR);
    cr_assert_eq(sw_dict_get(sw_dict_get(value, "dict"), "inner")->kind, SW_VALUE_TENSOR);
    cr_assert_eq(value->dict.entries[0].key.data[0], 'z', "key order is kept");
    cr_assert_eq(value->dict.entries[2].value.bytes.data, entries[2].value.bytes.data, "passed as they are");
    sw_materialized_destroy(copy);
}

Test(materialize, an_empty_list_an_empty_dict_and_a_list_of_one_are_three_things) {
    sw_value empty_list = sw_list(NULL, 0), empty_dict = sw_dict(NULL, 0), one = sw_list(&empty_dict, 1);
    const sw_value *value = materialized(&empty_list);
    cr_assert(value->kind == SW_VALUE_LIST && value->list.count == 0);
    sw_materialized_destroy(copy);
    value = materialized(&empty_dict);
    cr_assert(value->kind == SW_VALUE_DICT && value->dict.count == 0);
    sw_materialized_destroy(copy);
    value = materialized(&one);
    cr_assert(value->kind == SW_VALUE_LIST && value->list.count == 1);
    cr_assert_eq(value->list.items[0].kind, SW_VALUE_DICT);
    sw_materialized_destroy(copy);
}

Test(materialize, what_is_no_dict_is_an_error_that_names_its_path) {
    sw_value items[] = {sw_dict(NULL, 0), sw_integer(1)};
    sw_value list = sw_list(items, 2), text = sw_text("x");
    sw_error error;
    copy = NULL;
    cr_assert_eq(sw_pipeline_materialize_loss_metrics_for_object_broadcast(&list, &copy, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "metrics[1]");
    cr_assert_eq(sw_pipeline_materialize_loss_metrics_for_object_broadcast(&text, &copy, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "metrics");
    cr_assert_eq(sw_pipeline_materialize_loss_metrics_for_object_broadcast(NULL, &copy, NULL),
                 SW_INVALID_ARGUMENT);
    cr_assert_null(copy);
}
