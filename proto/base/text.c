#include "proto/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"
#define ELLIPSIS    "…"

void text_init(struct text *text, char *data, size_t size) {
    *text = (struct text){data, 0, size - 1, false};
    data[0] = '\0';
}

static bool put(struct text *text, const char *data, size_t size) {
    if (text->full || size > text->room - text->size) {
        text->full = true;
        return false;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
    return true;
}

void text_put(struct text *text, const char *string) {
    put(text, string, strlen(string));
}

void text_put_number(struct text *text, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    text_put(text, digits);
}

void text_put_unsigned(struct text *text, uint64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    text_put(text, digits);
}

/* The next character of any bytes: itself, or what stands for a byte that belongs to none. */
static size_t next_character(const char *data, size_t size, const char **ret_character, size_t *ret_size) {
    size_t length = utf8_character(data, size);
    bool fit = length > 0 && data[0] != '\0';
    *ret_character = fit ? data : REPLACEMENT;
    *ret_size = fit ? length : strlen(REPLACEMENT);
    return length > 0 ? length : 1;
}

static void end_in_ellipsis(struct text *text, size_t start) {
    size_t room = text->room - strlen(ELLIPSIS);
    if (text->size > room) {
        size_t keep = utf8_prefix(text->data + start, text->size - start, room - start);
        text_back_to(text, start + keep);
    }
    text->full = false;
    put(text, ELLIPSIS, strlen(ELLIPSIS));
    text->full = true;
}

void text_put_clean(struct text *text, const char *data, size_t size) {
    size_t start = text->size, at = 0;
    while (at < size) {
        const char *character;
        size_t length, used = next_character(data + at, size - at, &character, &length);
        if (!put(text, character, length)) break;
        at += used;
    }
    if (at < size && text->room - start >= strlen(ELLIPSIS)) end_in_ellipsis(text, start);
}

static void put_json_character(struct text *text, const char *character, size_t size) {
    static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    uint8_t first = (uint8_t)character[0];
    for (size_t i = 0; i + 1 < sizeof short_forms; i += 2) {
        if (character[0] != short_forms[i]) continue;
        put(text, (const char[]){'\\', short_forms[i + 1]}, 2);
        return;
    }
    if (first >= 0x20 && first != 0x7f) {
        put(text, character, size);
        return;
    }
    char escaped[8];
    snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)first);
    text_put(text, escaped);
}

void text_put_json(struct text *text, const char *data, size_t size, size_t most) {
    text_put(text, "\"");
    size_t at = 0;
    while (at < size) {
        const char *character;
        size_t length, used = next_character(data + at, size - at, &character, &length);
        if (at + used > most) break;
        put_json_character(text, character, length);
        at += used;
    }
    text_put(text, at < size ? ELLIPSIS "\"" : "\"");
}

void text_back_to(struct text *text, size_t size) {
    text->size = size;
    text->data[size] = '\0';
    text->full = false;
}
