#include "client/cli/demo/model/digits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "client/cli/demo/model/embedded.h"
#include "proto/base/error.h"

#define LINE_MAX_BYTES   256
#define FIELDS           (DIGITS_PIXELS + 1)
#define TEXT_MAX         ((size_t)DIGITS_IMAGES_MAX * LINE_MAX_BYTES)
#define ACCEPT_GZIP_ONLY (16 + MAX_WBITS)

static enum sw_status out_of_memory(const char *name, struct sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "%s: no memory to load it", name);
}

/* Inflates into text [TEXT_MAX]; what zlib answers besides the end of a whole stream is an error. */
static enum sw_status inflate_all(const char *name, const void *gzip, size_t size, char *text,
                                  size_t *ret_length, struct sw_error *error) {
    z_stream stream = {.next_in = (Bytef *)gzip, .avail_in = size > UINT_MAX ? UINT_MAX : (uInt)size};
    if (inflateInit2(&stream, ACCEPT_GZIP_ONLY) != Z_OK) return out_of_memory(name, error);
    stream.next_out = (Bytef *)text;
    stream.avail_out = TEXT_MAX;
    int result = inflate(&stream, Z_FINISH);
    size_t length = stream.total_out;
    bool all_taken = stream.total_in == size;
    inflateEnd(&stream);
    if (result == Z_STREAM_END && all_taken) {
        *ret_length = length;
        return SW_OK;
    }
    const char *why = result == Z_STREAM_END  ? "something follows its end"
                      : result != Z_BUF_ERROR ? "not a gzip file, or damaged"
                      : length == TEXT_MAX    ? "more text than so many images take"
                                              : "cut off before its end";
    return error_set_code(error, SW_DATA_LOSS, SW_REASON_NONE, "%s: %s; take it from the source tree again",
                          name, why);
}

static bool number_parse(const char *text, size_t length, unsigned max, unsigned *ret_value) {
    if (length == 0 || length > 2) return false;
    unsigned value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    *ret_value = value;
    return value <= max;
}

static enum sw_status bad_field(const char *name, size_t line, size_t field, const char *text, size_t length,
                                struct sw_error *error) {
    bool label = field == DIGITS_PIXELS;
    int shown = length > 16 ? 16 : (int)length;
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "%s, line %zu: field %zu, %s, is '%.*s'; it must be an integer from 0 to %d", name,
                          line, field + 1, label ? "the label" : "a pixel", shown, text,
                          label ? DIGITS_CLASSES - 1 : DIGITS_PIXEL_MAX);
}

static enum sw_status line_parse(const char *name, size_t line, const char *text, size_t length,
                                 float *pixels, uint8_t *label, struct sw_error *error) {
    const char *end = text + length;
    size_t fields = 1;
    for (const char *c = text; c < end; c++) fields += *c == ',';
    if (fields != FIELDS)
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "%s, line %zu: it must be %d pixels and a label, separated by commas; it has %zu fields", name,
            line, DIGITS_PIXELS, fields);
    for (size_t field = 0; field < FIELDS; field++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t width = (size_t)((comma ? comma : end) - text);
        bool last = field == DIGITS_PIXELS;
        unsigned value;
        if (!number_parse(text, width, last ? DIGITS_CLASSES - 1 : DIGITS_PIXEL_MAX, &value))
            return bad_field(name, line, field, text, width, error);
        if (last)
            *label = (uint8_t)value;
        else
            pixels[field] = (float)value / DIGITS_PIXEL_MAX;
        text += width + 1;
    }
    return SW_OK;
}

static bool set_create(struct digits_set *set, size_t capacity) {
    set->pixels = malloc(capacity * DIGITS_PIXELS * sizeof *set->pixels);
    set->labels = malloc(capacity);
    return set->pixels && set->labels;
}

static enum sw_status text_parse(const char *name, const char *text, size_t length, struct digits *digits,
                                 struct sw_error *error) {
    const char *end = text + length;
    for (size_t line = 1; text < end; line++) {
        if (line > DIGITS_IMAGES_MAX)
            return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: more than %d images", name,
                                  DIGITS_IMAGES_MAX);
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t width = (size_t)((newline ? newline : end) - text);
        struct digits_set *set = (line - 1) % DIGITS_HOLD_OUT == 0 ? &digits->evaluation : &digits->training;
        enum sw_status status = line_parse(name, line, text, width, set->pixels + set->count * DIGITS_PIXELS,
                                           set->labels + set->count, error);
        if (status != SW_OK) return status;
        set->count++;
        text += width + 1;
    }
    size_t images = digits->training.count + digits->evaluation.count;
    if (images < DIGITS_IMAGES_MIN)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "%s: only %zu images; at least %d are needed", name, images, DIGITS_IMAGES_MIN);
    return SW_OK;
}

enum sw_status digits_parse(const char *name, const void *gzip, size_t size, struct digits *ret,
                            struct sw_error *error) {
    struct digits digits = {0};
    char *text = malloc(TEXT_MAX);
    bool created = set_create(&digits.training, DIGITS_IMAGES_MAX) &&
                   set_create(&digits.evaluation, DIGITS_IMAGES_MAX / DIGITS_HOLD_OUT + 1);
    size_t length = 0;
    enum sw_status status =
        text && created ? inflate_all(name, gzip, size, text, &length, error) : out_of_memory(name, error);
    if (status == SW_OK) status = text_parse(name, text, length, &digits, error);
    free(text);
    if (status == SW_OK)
        *ret = digits;
    else
        digits_destroy(&digits);
    return status;
}

enum sw_status digits_load(struct digits *ret, struct sw_error *error) {
    return digits_parse("the built-in digits.csv.gz", embedded_digits, embedded_digits_size, ret, error);
}

void digits_destroy(struct digits *digits) {
    free(digits->training.pixels);
    free(digits->training.labels);
    free(digits->evaluation.pixels);
    free(digits->evaluation.labels);
    *digits = (struct digits){0};
}

void digits_gather(const struct digits_set *set, const uint32_t *indices, size_t count, float *pixels,
                   uint8_t *labels) {
    for (size_t i = 0; i < count; i++) {
        const float *image = set->pixels + (size_t)indices[i] * DIGITS_PIXELS;
        if (pixels) memcpy(pixels + i * DIGITS_PIXELS, image, DIGITS_PIXELS * sizeof *pixels);
        if (labels) labels[i] = set->labels[indices[i]];
    }
}
