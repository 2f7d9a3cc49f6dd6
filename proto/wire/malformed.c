#include "proto/wire/malformed.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

/* A key in a path is shortened to this, so that a deep one is still told whole. */
#define KEY_BYTES   48
#define PATH_BYTES  1024
#define WORDS_BYTES SW_ERROR_MESSAGE_MAX
#define PATH_STEPS  64

static bool plain(const char *key, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)key[i] < ' ') return false;
    }
    return size > 0;
}

static void put_key(struct text *text, const char *key, size_t size) {
    if (!plain(key, size)) {
        text_put(text, "[");
        text_put_json(text, key, size, KEY_BYTES);
        text_put(text, "]");
        return;
    }
    if (text->size > 0) text_put(text, ".");
    char shortened[KEY_BYTES + 4];
    struct text part;
    text_init(&part, shortened, sizeof shortened);
    text_put_clean(&part, key, size);
    text_put(text, shortened);
}

static void put_step(struct text *text, const struct path *step) {
    switch (step->step) {
    case PATH_FIELD:
        if (text->size > 0) text_put(text, ".");
        text_put(text, step->name);
        break;
    case PATH_INDEX:
        text_put(text, "[");
        text_put_unsigned(text, step->size);
        text_put(text, "]");
        break;
    case PATH_KEY:
        put_key(text, step->name, step->size);
        break;
    }
}

static void put_path(struct text *text, const struct path *path) {
    const struct path *steps[PATH_STEPS];
    size_t count = 0;
    for (; path && count < PATH_STEPS; path = path->parent) steps[count++] = path;
    while (count > 0) put_step(text, steps[--count]);
}

static sw_status fill(sw_error *error, const char *path, const char *format, va_list arguments) {
    char words[WORDS_BYTES];
    vsnprintf(words, sizeof words, format, arguments);
    sw_status status = error_set(error, SW_REASON_MALFORMED, "%s %s", path, words);
    error_add(error, "path", path);
    return status;
}

sw_status malformed(sw_error *error, const struct path *path, const char *format, ...) {
    if (!error) return SW_INVALID_ARGUMENT;
    char rendered[PATH_BYTES];
    struct text text;
    text_init(&text, rendered, sizeof rendered);
    put_path(&text, path);
    va_list arguments;
    va_start(arguments, format);
    sw_status status = fill(error, rendered, format, arguments);
    va_end(arguments);
    return status;
}

sw_status malformed_at(sw_error *error, const char *path, const char *format, ...) {
    if (!error) return SW_INVALID_ARGUMENT;
    va_list arguments;
    va_start(arguments, format);
    sw_status status = fill(error, path, format, arguments);
    va_end(arguments);
    return status;
}
