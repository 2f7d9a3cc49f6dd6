#include "client/cli/demo/model/digits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "tests/support/test.h"

#define GZIP       (16 + MAX_WBITS)
#define PACKED_MAX (64 * 1024)

static const char image[] = "0,0,5,13,9,1,0,0,0,0,13,15,10,15,5,0,0,3,15,2,0,11,8,0,0,4,12,0,0,8,8,0,"
                            "0,5,8,0,0,9,8,0,0,4,11,0,1,12,7,0,0,2,14,5,10,12,0,0,0,0,6,13,10,0,0,0,";

static size_t pack(const void *text, size_t length, unsigned char packed[PACKED_MAX]) {
    z_stream stream = {.next_in = (Bytef *)text, .avail_in = (uInt)length};
    cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_out = packed;
    stream.avail_out = PACKED_MAX;
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

static enum sw_status parse(const char *text, struct digits *ret, struct sw_error *error) {
    unsigned char packed[PACKED_MAX];
    return digits_parse("x.gz", packed, pack(text, strlen(text), packed), ret, error);
}

/* Three lines: a good one, `second`, a good one. */
static void expect_bad_second_line(const char *second, const char *part_of_message) {
    char text[2048];
    struct digits digits = {0};
    struct sw_error error;
    snprintf(text, sizeof text, "%s0\n%s\n%s0\n", image, second, image);
    cr_assert_eq(parse(text, &digits, &error), SW_INVALID_ARGUMENT, "'%s' was accepted", second);
    cr_assert(strstr(error.message, "x.gz, line 2: "), "%s", error.message);
    cr_assert(strstr(error.message, part_of_message), "%s", error.message);
    cr_assert_null(digits.training.pixels, "outputs are written only on success");
}

Test(digits, the_program_carries_1797_images_and_holds_every_sixth_out) {
    struct digits digits;
    struct sw_error error;
    cr_assert_eq(digits_load(&digits, &error), SW_OK, "%s", error.message);
    cr_assert_eq(digits.training.count, 1497);
    cr_assert_eq(digits.evaluation.count, 300);
    static const uint8_t first_13[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2};
    for (size_t i = 0, train = 0, held = 0; i < sizeof first_13; i++) {
        uint8_t label = i % 6 == 0 ? digits.evaluation.labels[held++] : digits.training.labels[train++];
        cr_assert_eq(label, first_13[i], "image %zu", i);
    }
    digits_destroy(&digits);
}

static void expect_sound(const struct digits_set *set) {
    size_t seen[DIGITS_CLASSES] = {0};
    float top = 0.0f;
    for (size_t i = 0; i < set->count; i++) {
        cr_assert_lt(set->labels[i], DIGITS_CLASSES);
        seen[set->labels[i]]++;
    }
    for (size_t i = 0; i < set->count * DIGITS_PIXELS; i++) {
        cr_assert(set->pixels[i] >= 0.0f && set->pixels[i] <= 1.0f);
        if (set->pixels[i] > top) top = set->pixels[i];
    }
    cr_assert_eq(top, 1.0f);
    for (size_t c = 0; c < DIGITS_CLASSES; c++) cr_assert_gt(seen[c], set->count / 20, "digit %zu", c);
}

Test(digits, both_sets_have_every_digit_and_pixels_from_0_to_1) {
    struct digits digits;
    cr_assert_eq(digits_load(&digits, NULL), SW_OK);
    expect_sound(&digits.training);
    expect_sound(&digits.evaluation);
    digits_destroy(&digits);
}

Test(digits, pixels_keep_their_places_and_are_scaled_by_16) {
    char text[1024];
    struct digits digits;
    snprintf(text, sizeof text, "%s7\n%s3", image, image); /* a last line may lack its newline */
    cr_assert_eq(parse(text, &digits, NULL), SW_OK);
    cr_assert_eq(digits.evaluation.count, 1);
    cr_assert_eq(digits.training.count, 1);
    cr_assert_eq(digits.evaluation.labels[0], 7);
    cr_assert_eq(digits.training.labels[0], 3);
    cr_assert_eq(digits.training.pixels[2], 5.0f / 16);
    cr_assert_eq(digits.training.pixels[3], 13.0f / 16);
    cr_assert_eq(digits.training.pixels[60], 10.0f / 16);
    digits_destroy(&digits);
}

Test(digits, a_bad_line_is_named_with_its_field) {
    char line[512];
    static const char *const bad_labels[] = {"10", "", "x", "-1", "1 ", "007", "1.0"};
    for (size_t i = 0; i < sizeof bad_labels / sizeof *bad_labels; i++) {
        snprintf(line, sizeof line, "%s%s", image, bad_labels[i]);
        expect_bad_second_line(line, "field 65, the label, is '");
        expect_bad_second_line(line, bad_labels[i]);
    }
    static const char *const bad_pixels[] = {"17", "", "a", "-0", "+1", "100"};
    for (size_t i = 0; i < sizeof bad_pixels / sizeof *bad_pixels; i++) {
        snprintf(line, sizeof line, "0,%s,%s1", bad_pixels[i], image + 4);
        expect_bad_second_line(line, "field 2, a pixel, is '");
    }
    expect_bad_second_line("", "has 1 fields");
    expect_bad_second_line("1,2,3", "has 3 fields");
    snprintf(line, sizeof line, "%s0,0", image);
    expect_bad_second_line(line, "has 66 fields");
}

Test(digits, too_few_and_too_many_images_are_refused) {
    struct digits digits;
    struct sw_error error;
    char line[512];
    snprintf(line, sizeof line, "%s1\n", image);
    cr_assert_eq(parse("", &digits, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "only 0 images"), "%s", error.message);
    cr_assert_eq(parse(line, &digits, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "only 1 images"), "%s", error.message);

    size_t length = strlen(line);
    char *text = calloc(DIGITS_IMAGES_MAX + 1, length + 1);
    for (size_t i = 0; i < DIGITS_IMAGES_MAX; i++) memcpy(text + i * length, line, length);
    cr_assert_eq(parse(text, &digits, &error), SW_OK, "%s", error.message);
    digits_destroy(&digits);
    memcpy(text + DIGITS_IMAGES_MAX * length, line, length);
    cr_assert_eq(parse(text, &digits, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "more than 4096 images"), "%s", error.message);
    free(text);
}

Test(digits, what_is_not_one_whole_gzip_file_is_data_loss) {
    unsigned char packed[PACKED_MAX];
    struct digits digits;
    struct sw_error error;
    char text[1024];
    int length = snprintf(text, sizeof text, "%s7\n%s3\n", image, image);
    size_t size = pack(text, (size_t)length, packed);

    for (size_t cut = 0; cut < size; cut++)
        cr_assert_eq(digits_parse("x.gz", packed, cut, &digits, NULL), SW_DATA_LOSS, "cut at %zu", cut);
    cr_assert_eq(digits_parse("x.gz", text, (size_t)length, &digits, &error), SW_DATA_LOSS);
    cr_assert(strstr(error.message, "not a gzip file"), "%s", error.message);
    packed[size] = 0;
    cr_assert_eq(digits_parse("x.gz", packed, size + 1, &digits, &error), SW_DATA_LOSS);
    cr_assert(strstr(error.message, "something follows"), "%s", error.message);
    packed[size / 2] ^= 1;
    cr_assert_eq(digits_parse("x.gz", packed, size, &digits, NULL), SW_DATA_LOSS);
}

Test(digits, a_file_that_unpacks_to_far_more_is_refused) {
    size_t size = 8u << 20;
    unsigned char packed[PACKED_MAX];
    struct digits digits;
    struct sw_error error;
    void *zeros = calloc(1, size);
    cr_assert_eq(digits_parse("x.gz", packed, pack(zeros, size, packed), &digits, &error), SW_DATA_LOSS);
    cr_assert(strstr(error.message, "more text than"), "%s", error.message);
    free(zeros);
}
