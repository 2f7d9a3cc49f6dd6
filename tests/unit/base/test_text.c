#include <string.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"
#include "tests/support/test.h"

Test(utf8, characters_of_every_length_are_valid) {
    const char *const valid[] = {"",
                                 "a",
                                 "\x7f",
                                 "\xc2\x80",
                                 "\xdf\xbf",
                                 "\xe0\xa0\x80",
                                 "\xed\x9f\xbf",
                                 "\xee\x80\x80",
                                 "\xef\xbf\xbf",
                                 "\xf0\x90\x80\x80",
                                 "\xf4\x8f\xbf\xbf",
                                 "Schlußwort: 損失 📉 and a tail that is plain ASCII"};
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        cr_assert(utf8_valid(valid[i], strlen(valid[i])), "%zu", i);
    cr_assert(utf8_valid("a\0b", 3));
}

Test(utf8, overlong_forms_surrogates_and_cuts_are_not) {
    const char *const invalid[] = {"\x80",
                                   "\xbf",
                                   "\xc0\x80",
                                   "\xc1\xbf",
                                   "\xc2",
                                   "\xe0\x80\x80",
                                   "\xe0\x9f\xbf",
                                   "\xe1\x80",
                                   "\xed\xa0\x80",
                                   "\xed\xbf\xbf",
                                   "\xf0\x80\x80\x80",
                                   "\xf0\x8f\xbf\xbf",
                                   "\xf4\x90\x80\x80",
                                   "\xf5\x80\x80\x80",
                                   "\xff",
                                   "\xfe",
                                   "\xe1\x80\xc0",
                                   "plain ASCII first\xff",
                                   "12345678\x80"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        cr_assert_not(utf8_valid(invalid[i], strlen(invalid[i])), "%zu", i);
}

static uint32_t decode(const uint8_t *b, size_t length) {
    static const uint8_t lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = b[0] & lead[length];
    for (size_t i = 1; i < length; i++) point = point << 6 | (b[i] & 0x3f);
    return point;
}

Test(utf8, every_sequence_of_up_to_three_bytes_is_judged_by_its_code_point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800};
    for (uint32_t word = 0; word < 1u << 24; word += word & 0xffff ? 1 : 251) {
        uint8_t b[3] = {(uint8_t)(word >> 16), (uint8_t)(word >> 8), (uint8_t)word};
        size_t length = utf8_character((const char *)b, 3);
        if (length == 0 || length > 3) continue;
        uint32_t point = decode(b, length);
        cr_assert_geq(point, least[length]);
        cr_assert(point < 0xd800 || point > 0xdfff);
    }
}

Test(utf8, a_prefix_never_cuts_a_character) {
    const char *text = "aä損📉z";
    size_t size = strlen(text);
    for (size_t room = 0; room <= size + 1; room++) {
        size_t kept = utf8_prefix(text, size, room);
        cr_assert_leq(kept, room);
        cr_assert(utf8_valid(text, kept));
        cr_assert_lt(room < size ? room - kept : 0, 4);
    }
}

Test(text, what_does_not_fit_is_left_out_whole) {
    char data[8];
    struct text text;
    text_init(&text, data, sizeof data);
    text_put(&text, "abc");
    cr_assert_not(text.full);
    text_put(&text, "defgh");
    cr_assert(text.full);
    text_put(&text, "x");
    cr_assert_str_eq(data, "abc", "once full it stays full");
    text_back_to(&text, 2);
    text_put(&text, "cdefg");
    cr_assert_str_eq(data, "abcdefg");
    cr_assert_not(text.full);
}

Test(text, numbers_have_all_their_digits) {
    char data[64];
    struct text text;
    text_init(&text, data, sizeof data);
    text_put_number(&text, INT64_MIN);
    text_put(&text, " ");
    text_put_unsigned(&text, UINT64_MAX);
    cr_assert_str_eq(data, "-9223372036854775808 18446744073709551615");
}

Test(text, clean_text_is_cut_at_a_character_for_every_size) {
    const char *source = "ab\xff損📉äz and more that has to go";
    for (size_t size = 1; size < 60; size++) {
        char data[64];
        memset(data, 'x', sizeof data);
        struct text text;
        text_init(&text, data, size);
        text_put_clean(&text, source, strlen(source));
        cr_assert_lt(strlen(data), size);
        cr_assert(utf8_valid(data, strlen(data)));
        cr_assert_eq(data[size], 'x');
        if (text.full && size > 3) cr_assert_str_eq(data + strlen(data) - 3, "…");
    }
}

Test(text, json_escapes_what_json_forbids) {
    char data[128];
    struct text text;
    text_init(&text, data, sizeof data);
    text_put_json(&text, "\"\\/\b\f\n\r\t\x1f\x7fü\0", 13, 100);
    cr_assert_str_eq(data, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u001f\\u007fü\xEF\xBF\xBD\"");
}

Test(text, a_json_string_is_cut_at_its_most) {
    char data[64];
    struct text text;
    text_init(&text, data, sizeof data);
    text_put_json(&text, "äöü", 6, 3);
    cr_assert_str_eq(data, "\"ä…\"");
    text_back_to(&text, 0);
    text_put_json(&text, "äöü", 6, 6);
    cr_assert_str_eq(data, "\"äöü\"");
}
