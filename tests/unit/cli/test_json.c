#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/json_read.h"
#include "client/cli/json_write.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"

static char *written(const sw_value *value) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_write_value(out, value);
    fclose(out);
    return text;
}

static void expect_written(sw_value value, const char *expected) {
    char *text = written(&value);
    cr_assert_str_eq(text, expected);
    free(text);
}

Test(json, numbers_read_back_as_the_same_double_and_never_look_like_integers) {
    expect_written(sw_number(0.1), "0.1");
    expect_written(sw_number(1.0), "1.0");
    expect_written(sw_number(-0.0), "-0.0");
    expect_written(sw_number(1e300), "1e+300");
    expect_written(sw_number(2.302585092994046), "2.302585092994046");
    expect_written(sw_number(0.1 + 0.2), "0.30000000000000004");
    expect_written(sw_integer(INT64_MIN), "-9223372036854775808");
    double odd[] = {5e-324, 1.7976931348623157e308, 1.0 / 3, 123456789012345680.0};
    for (unsigned i = 0; i < 4; i++) {
        sw_value value = sw_number(odd[i]);
        char *text = written(&value);
        cr_assert_eq(strtod(text, NULL), odd[i], "%s", text);
        free(text);
    }
}

Test(json, nan_and_infinities_are_strings) {
    expect_written(sw_number(NAN), "\"NaN\"");
    expect_written(sw_number(INFINITY), "\"Infinity\"");
    expect_written(sw_number(-INFINITY), "\"-Infinity\"");
}

Test(json, text_is_escaped) {
    sw_value text = {.kind = SW_VALUE_TEXT, .bytes = {"a\"\\\n\0\x1b\xc3\xa4", 8}};
    expect_written(text, "\"a\\\"\\\\\\n\\u0000\\u001b\xc3\xa4\"");
}

Test(json, what_json_lacks_gets_a_marker) {
    sw_value blob = {.kind = SW_VALUE_BLOB, .bytes = {"\xff\x00", 2}};
    expect_written(blob, "{\"$blob\": \"/wA=\"}");
    float elements[] = {1, 2, 6};
    int64_t shape[] = {3, 1};
    sw_value tensor = {.kind = SW_VALUE_TENSOR, .tensor = {SW_F32, 2, shape, elements, sizeof elements}};
    expect_written(tensor,
                   "{\"$tensor\": {\"dtype\": \"F32\", \"shape\": [3, 1], \"min\": 1.0, \"max\": 6.0, "
                   "\"mean\": 3.0}}");
    sw_value inner = sw_text("12345678901234567890");
    sw_value extension = {.kind = SW_VALUE_EXTENSION, .extension = {sw_text_of("py.int"), &inner}};
    expect_written(extension, "{\"$extension\": \"py.int\", \"value\": \"12345678901234567890\"}");
}

Test(json, a_tensor_with_a_nan_has_nan_for_a_summary_and_an_empty_one_has_none) {
    float elements[] = {1, NAN, 2};
    int64_t shape[] = {3}, empty[] = {0};
    sw_tensor_view view = {SW_F32, 1, shape, elements, sizeof elements};
    struct tensor_summary summary;
    cr_assert(tensor_summarize(&view, &summary));
    cr_assert(isnan(summary.min) && isnan(summary.max) && isnan(summary.mean));
    view = (sw_tensor_view){SW_F32, 1, empty, elements, 0};
    cr_assert_not(tensor_summarize(&view, &summary));
}

static struct arena arena;
static const sw_value *metrics;
static sw_error error;

static sw_status read_text(const char *text, bool from_get) {
    arena_init(&arena, &allocator_system, SIZE_MAX);
    return json_read_metrics(text, strlen(text), from_get, &arena, &metrics, &error);
}

Test(json, integers_stay_integers_and_other_numbers_are_doubles) {
    cr_assert_eq(read_text("{\"b\": 1, \"a\": 1.0, \"c\": 1e2, \"d\": -9223372036854775808}", false), SW_OK);
    cr_assert_eq(sw_dict_get(metrics, "b")->kind, SW_VALUE_INTEGER);
    cr_assert_eq(sw_dict_get(metrics, "a")->kind, SW_VALUE_NUMBER);
    cr_assert_eq(sw_dict_get(metrics, "c")->number, 100.0);
    cr_assert_eq(sw_dict_get(metrics, "d")->integer, INT64_MIN);
    cr_assert_eq(metrics->dict.entries[0].key.data[0], 'b', "keys keep their order");
    arena_destroy(&arena);
}

Test(json, nothing_lists_and_dicts_nest) {
    cr_assert_eq(read_text("[{\"a\": [null, true, {\"x\": []}]}, {}]", false), SW_OK);
    cr_assert_eq(metrics->kind, SW_VALUE_LIST);
    cr_assert_eq(metrics->list.count, 2);
    const sw_value *a = sw_dict_get(&metrics->list.items[0], "a");
    cr_assert_eq(a->list.items[0].kind, SW_VALUE_NULL);
    cr_assert(a->list.items[1].boolean);
    cr_assert_eq(sw_dict_get(&a->list.items[2], "x")->list.count, 0);
    arena_destroy(&arena);
}

Test(json, plain_input_has_no_markers_and_no_special_numbers) {
    cr_assert_eq(read_text("{\"a\": \"NaN\", \"b\": {\"$blob\": \"/wA=\"}}", false), SW_OK);
    cr_assert_eq(sw_dict_get(metrics, "a")->kind, SW_VALUE_TEXT);
    cr_assert_eq(sw_dict_get(metrics, "b")->kind, SW_VALUE_DICT);
    arena_destroy(&arena);
}

static void expect_wrong(const char *text, bool from_get, const char *words) {
    cr_assert_eq(read_text(text, from_get), SW_INVALID_ARGUMENT, "%s", text);
    cr_assert(strstr(error.message, words), "no \"%s\" in: %s", words, error.message);
    arena_destroy(&arena);
}

Test(json, what_is_wrong_is_named_with_its_place) {
    expect_wrong("", false, "line 1, column 0");
    expect_wrong("{\"a\": 1,\n \"b\": }", false, "line 2, column 7");
    expect_wrong("{\"a\": 1} x", false, "end of file expected");
    expect_wrong("{\"a\": 1, \"a\": 2}", false, "duplicate");
    expect_wrong("{\"a\": 9223372036854775808}", false, "too big integer");
    expect_wrong("{\"a\": NaN}", false, "NaN");
    expect_wrong("3", false, "no JSON object or array");
    expect_wrong("[{}, 3]", false, "item 1 of the array is a number");
    expect_wrong("[[]]", false, "item 0 of the array is an array");
}

Test(json, a_line_of_get_reads_back_as_what_was_published) {
    sw_value text = sw_text("1"), blob = {.kind = SW_VALUE_BLOB, .bytes = {"\xff\x00z", 3}};
    sw_value items[] = {sw_number(NAN), sw_number(-INFINITY), blob,
                        sw_null(),      sw_integer(-1),       sw_number(0.1)};
    sw_entry entries[] = {
        {sw_text_of("list"), sw_list(items, 6)},
        {sw_text_of("extension"), {.kind = SW_VALUE_EXTENSION, .extension = {sw_text_of("py.int"), &text}}},
        {sw_text_of("flag"), sw_boolean(false)},
    };
    sw_value dict = sw_dict(entries, 3);
    char *json = written(&dict), line[1000];
    snprintf(line, sizeof line, "{\"step\": 1, \"metrics\": %s}", json);
    cr_assert_eq(read_text(line, true), SW_OK, "%s", error.message);
    cr_assert(value_same(metrics, &dict), "%s", json);
    free(json);
    arena_destroy(&arena);
}

Test(json, a_line_of_get_that_cannot_be_published_is_refused_with_the_path) {
    expect_wrong("{\"loss\": 1}", true, "no line of 'stagewire get --json'");
    expect_wrong("{\"metrics\": 1}", true, "no line of 'stagewire get --json'");
    expect_wrong("{\"metrics\": [{\"g\": {\"h\": {\"$tensor\": {}}}}]}", true, "metrics[0].g.h: is a tensor");
    expect_wrong("{\"metrics\": {\"b\": {\"$blob\": \"x\"}}}", true, "metrics.b: \"$blob\" must hold base64");
    expect_wrong("{\"metrics\": {\"b\": {\"$blob\": 3}}}", true, "metrics.b: \"$blob\" must hold base64");
}
