#include "proto/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"

/* A list leaves this much to the keys that are still to come. */
#define LIST_LEAVES 320
/* Of one string in a list: longer ones would push the others out. */
#define LIST_ITEM_MAX 256

bool error_next(const struct sw_error *error, size_t *cursor, const char **ret_key, const char **ret_value) {
    if (*cursor >= error->details_size) return false;
    *ret_key = error->details + *cursor;
    *ret_value = *ret_key + strlen(*ret_key) + 1;
    *cursor = (size_t)(*ret_value - error->details) + strlen(*ret_value) + 1;
    return true;
}

const char *sw_error_metadata(const sw_error *error, const char *key) {
    const char *found, *value;
    for (size_t cursor = 0; error && error_next(error, &cursor, &found, &value);) {
        if (strcmp(found, key) == 0) return value;
    }
    return NULL;
}

static void remove_key(struct sw_error *error, const char *key) {
    const char *found, *value;
    size_t start = 0;
    for (size_t cursor = 0; error_next(error, &cursor, &found, &value); start = cursor) {
        if (strcmp(found, key) != 0) continue;
        memmove(error->details + start, error->details + cursor, error->details_size - cursor);
        error->details_size = (uint16_t)(error->details_size - (cursor - start));
        return;
    }
}

/* Where the value of a new key may be written, or false if not even an empty one fits. */
static bool value_begin(struct sw_error *error, const char *key, size_t leave, struct text *ret_value) {
    remove_key(error, key);
    size_t key_size = strlen(key) + 1;
    size_t room = sizeof error->details - error->details_size;
    if (room < key_size + leave + 1) return false;
    memcpy(error->details + error->details_size, key, key_size);
    text_init(ret_value, error->details + error->details_size + key_size, room - key_size - leave);
    return true;
}

static void value_end(struct sw_error *error, const struct text *value) {
    error->details_size = (uint16_t)(value->data - error->details + value->size + 1);
}

void error_add_bytes(struct sw_error *error, const char *key, const char *value, size_t size) {
    struct text text;
    if (!error || !value_begin(error, key, 0, &text)) return;
    text_put_clean(&text, value, size);
    if (!text.full) value_end(error, &text);
}

void error_add(struct sw_error *error, const char *key, const char *value) {
    error_add_bytes(error, key, value ? value : "", value ? strlen(value) : 0);
}

void error_add_number(struct sw_error *error, const char *key, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    error_add(error, key, digits);
}

void error_add_position(struct sw_error *error, const char *key, uint64_t step, uint32_t call) {
    char position[40];
    snprintf(position, sizeof position, "%" PRIu64 "/%" PRIu32, step, call);
    error_add(error, key, position);
}

static void finish_list(struct sw_error *error, struct text *text, size_t written, size_t count) {
    text_put(text, "]");
    value_end(error, text);
    if (written < count) error_add_number(error, "omitted", count - written);
}

/* An item is in only if the closing bracket still fits behind it. */
static bool item_fits(struct text *text, size_t before) {
    if (!text->full && text->size < text->room) return true;
    text_back_to(text, before);
    return false;
}

void error_add_strings(struct sw_error *error, const char *key, const char *const *items, size_t count) {
    struct text text;
    if (!error || !value_begin(error, key, LIST_LEAVES, &text) || text.room < 2) return;
    text_put(&text, "[");
    size_t written = 0;
    for (; written < count; written++) {
        size_t before = text.size;
        if (written > 0) text_put(&text, ",");
        text_put_json(&text, items[written], strlen(items[written]), LIST_ITEM_MAX);
        if (!item_fits(&text, before)) break;
    }
    finish_list(error, &text, written, count);
}

void error_add_numbers(struct sw_error *error, const char *key, const uint32_t *items, size_t count) {
    struct text text;
    if (!error || !value_begin(error, key, LIST_LEAVES, &text) || text.room < 2) return;
    text_put(&text, "[");
    size_t written = 0;
    for (; written < count; written++) {
        size_t before = text.size;
        if (written > 0) text_put(&text, ",");
        text_put_unsigned(&text, items[written]);
        if (!item_fits(&text, before)) break;
    }
    finish_list(error, &text, written, count);
}
