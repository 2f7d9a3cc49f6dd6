#include "client/cli/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(FILE *out, const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) group |= bytes[i + 2];
        fputc(digits[group >> 18], out);
        fputc(digits[group >> 12 & 63], out);
        fputc(left > 1 ? digits[group >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[group & 63] : '=', out);
    }
}

/* Four digits, of which the last `padding` are '='. */
static bool read_group(const char *text, size_t padding, uint32_t *ret_group) {
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = i < 4 - padding && text[i] ? strchr(digits, text[i]) : digits;
        if (!digit) return false;
        group = group << 6 | (uint32_t)(digit - digits);
    }
    uint32_t unused = (1u << 8 * padding) - 1;
    *ret_group = group;
    return (group & unused) == 0;
}

bool base64_read(const char *text, size_t size, void *data, size_t *ret_size) {
    uint8_t *bytes = data;
    if (size % 4 != 0) return false;
    size_t padding = size && text[size - 1] == '=' ? 1 + (text[size - 2] == '=') : 0;
    for (size_t i = 0; i < size; i += 4) {
        size_t cut = i + 4 == size ? padding : 0;
        uint32_t group;
        if (memchr(text + i, 0, 4) || !read_group(text + i, cut, &group)) return false;
        for (size_t k = 0; k < 3 - cut; k++) *bytes++ = (uint8_t)(group >> (16 - 8 * k));
    }
    *ret_size = size / 4 * 3 - padding;
    return true;
}
