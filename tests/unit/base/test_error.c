#include <string.h>

#include "proto/base/error.h"
#include "proto/base/utf8.h"
#include "tests/support/test.h"

Test(error, null_is_fine_and_gives_the_same_code) {
    cr_assert_eq(error_set(NULL, SW_REASON_EVICTED, "gone"), SW_OUT_OF_RANGE);
    cr_assert_eq(error_set_code(NULL, SW_NOT_FOUND, SW_REASON_NOT_YET, "not yet"), SW_NOT_FOUND);
    cr_assert_eq(error_no_memory(NULL), SW_RESOURCE_EXHAUSTED);
    error_prefix(NULL, "x");
    error_add(NULL, "a", "b");
    error_add_strings(NULL, "a", NULL, 0);
    error_add_numbers(NULL, "a", NULL, 0);
    cr_assert_null(sw_error_metadata(NULL, "a"));
}

Test(error, it_has_code_reason_message_and_no_old_metadata) {
    sw_error error;
    error_set(&error, SW_REASON_CONFLICT, "first");
    error_add(&error, "generation", "1");
    cr_assert_eq(error_set(&error, SW_REASON_EVICTED, "step %d is gone", 7), SW_OUT_OF_RANGE);
    cr_assert_eq(error.code, SW_OUT_OF_RANGE);
    cr_assert_eq(error.reason, SW_REASON_EVICTED);
    cr_assert_str_eq(error.message, "step 7 is gone");
    cr_assert_null(sw_error_metadata(&error, "generation"));
}

Test(error, its_own_message_may_be_an_argument) {
    sw_error error;
    error_set(&error, SW_REASON_NOT_YET, "step 7");
    error_set(&error, SW_REASON_NOT_YET, "stage 3: %s", error.message);
    cr_assert_str_eq(error.message, "stage 3: step 7");
    error_prefix(&error, "%s, ", "run \"a\"");
    cr_assert_str_eq(error.message, "run \"a\", stage 3: step 7");
}

Test(error, a_prefix_keeps_reason_and_metadata) {
    sw_error error;
    error_set(&error, SW_REASON_NOT_YET, "nothing");
    error_add_position(&error, "latest", UINT64_MAX, UINT32_MAX);
    error_prefix(&error, "stage 1: ");
    cr_assert_eq(error.reason, SW_REASON_NOT_YET);
    cr_assert_str_eq(sw_error_metadata(&error, "latest"), "18446744073709551615/4294967295");
}

Test(error, a_long_message_is_cut_at_a_character_and_ends_in_an_ellipsis) {
    char text[3 * SW_ERROR_MESSAGE_MAX];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 2 < sizeof text; i += 2) memcpy(text + i, "ä", 3);
        sw_error error;
        error_set(&error, SW_REASON_LIMIT, "%s", text);
        size_t size = strlen(error.message);
        cr_assert_gt(size, SW_ERROR_MESSAGE_MAX - 8);
        cr_assert(utf8_valid(error.message, size));
        cr_assert_str_eq(error.message + size - 3, "…");
    }
}

Test(error, a_message_that_just_fits_is_not_cut) {
    char text[SW_ERROR_MESSAGE_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "%s", text);
    cr_assert_str_eq(error.message, text);
}

Test(error, what_is_not_utf8_in_a_message_is_replaced) {
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "a\xff%s", "b\xed\xa0\x80");
    cr_assert_str_eq(error.message, "a\xEF\xBF\xBD"
                                    "b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

Test(error, a_key_set_twice_keeps_the_last_value) {
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "x");
    error_add(&error, "a", "1");
    error_add(&error, "b", "2");
    error_add_number(&error, "a", 3);
    cr_assert_str_eq(sw_error_metadata(&error, "a"), "3");
    cr_assert_str_eq(sw_error_metadata(&error, "b"), "2");
    size_t cursor = 0, count = 0;
    const char *key, *value;
    while (error_next(&error, &cursor, &key, &value)) count++;
    cr_assert_eq(count, 2);
}

Test(error, metadata_that_does_not_fit_is_left_out_whole) {
    sw_error error;
    char text[SW_ERROR_DETAILS_MAX];
    memset(text, 'x', sizeof text);
    error_set(&error, SW_REASON_LIMIT, "x");
    error_add_bytes(&error, "message", text, sizeof text);
    cr_assert_null(sw_error_metadata(&error, "message"));
    error_add_bytes(&error, "message", text, sizeof text - strlen("message") - 2);
    cr_assert_eq(strlen(sw_error_metadata(&error, "message")), sizeof text - strlen("message") - 2);
    cr_assert_eq(error.details_size, SW_ERROR_DETAILS_MAX);
    error_add(&error, "k", "");
    cr_assert_null(sw_error_metadata(&error, "k"));
}

Test(error, bytes_become_text_without_nul) {
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "x");
    error_add_bytes(&error, "path", "a\0b\xff", 4);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "a\xEF\xBF\xBD"
                                                        "b\xEF\xBF\xBD");
}

Test(error, a_list_is_a_json_array) {
    sw_error error;
    const char *items[] = {"rank-1", "a\"b\\c\n\x01", "", "ü\xff"};
    error_set(&error, SW_REASON_STORE_FULL, "x");
    error_add_strings(&error, "consumers", items, 4);
    error_add_numbers(&error, "stages", (const uint32_t[]){0, 7, UINT32_MAX}, 3);
    error_add_strings(&error, "tensors", NULL, 0);
    cr_assert_str_eq(sw_error_metadata(&error, "consumers"),
                     "[\"rank-1\",\"a\\\"b\\\\c\\n\\u0001\",\"\",\"ü\xEF\xBF\xBD\"]");
    cr_assert_str_eq(sw_error_metadata(&error, "stages"), "[0,7,4294967295]");
    cr_assert_str_eq(sw_error_metadata(&error, "tensors"), "[]");
    cr_assert_null(sw_error_metadata(&error, "omitted"));
}

static size_t commas(const char *text) {
    size_t count = 0;
    for (; *text; text++) count += *text == ',';
    return count;
}

Test(error, a_list_is_cut_and_omitted_says_by_how_many) {
    enum { COUNT = 5000 };
    static uint32_t stages[COUNT];
    static const char *names[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        stages[i] = i;
        names[i] = "a-consumer";
    }
    sw_error error;
    error_set(&error, SW_REASON_STORE_FULL, "x");
    error_add_numbers(&error, "stages", stages, COUNT);
    const char *list = sw_error_metadata(&error, "stages");
    cr_assert_eq(list[strlen(list) - 1], ']');
    cr_assert_eq(commas(list) + 1 + strtoul(sw_error_metadata(&error, "omitted"), NULL, 10), COUNT);

    error_set(&error, SW_REASON_STORE_FULL, "x");
    error_add_strings(&error, "consumers", names, COUNT);
    list = sw_error_metadata(&error, "consumers");
    cr_assert_gt(strlen(list), SW_ERROR_DETAILS_MAX / 2);
    cr_assert_eq(list[strlen(list) - 1], ']');
    cr_assert_eq(commas(list) + 1 + strtoul(sw_error_metadata(&error, "omitted"), NULL, 10), COUNT);
    error_add_number(&error, "generation", UINT64_MAX);
    cr_assert_not_null(sw_error_metadata(&error, "generation"), "a list leaves room for other keys");
}

Test(error, no_memory_names_its_limit) {
    sw_error error;
    cr_assert_eq(error_no_memory(&error), SW_RESOURCE_EXHAUSTED);
    cr_assert_eq(error.reason, SW_REASON_LIMIT);
    cr_assert_str_eq(sw_error_metadata(&error, "limit"), "memory");
}

Test(error, an_address_in_words_names_what_is_known) {
    char text[ADDRESS_WORDS_MAX];
    sw_address address = {.has_stage = true, .stage = 3, .channel = "train", .step = 7, .generation = 2};
    cr_assert_str_eq(address_in_words(text, sizeof text, &address, SW_METRICS),
                     "stage 3, group 0, metrics \"train\", step 7, call 0, generation 2");
    address = (sw_address){.channel = "train", .step = 7, .call = 1};
    cr_assert_str_eq(address_in_words(text, sizeof text, &address, SW_TENSORS),
                     "group 0, tensors \"train\", step 7, call 1");
    address.channel = NULL;
    cr_assert_str_eq(address_in_words(text, sizeof text, &address, SW_OBJECT), "group 0, step 7, call 1");
}

Test(error, an_address_in_words_never_overflows) {
    char name[4 * SW_CHANNEL_MAX], text[ADDRESS_WORDS_MAX];
    memset(name, '\x01', sizeof name);
    name[sizeof name - 1] = '\0';
    sw_address address = {.has_stage = true, .channel = name};
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, 'x', sizeof text);
        address_in_words(text, size, &address, SW_METRICS);
        cr_assert_lt(strnlen(text, sizeof text), size);
        cr_assert_eq(text[size], 'x');
    }
}
