#include "client/cli/json_read.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "client/cli/base64.h"
#include "proto/base/error.h"

#define PATH_BYTES 256

/* Where in the text: "metrics[2].grad.norm". A segment is cut off again when its value is done. */
struct reader {
    bool from_get;
    struct arena *arena;
    sw_error *error;
    char path[PATH_BYTES];
};

static sw_status wrong(struct reader *reader, const char *what) {
    return error_set_code(reader->error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: %s", reader->path, what);
}

static sw_status no_memory(struct reader *reader) {
    return error_set_code(reader->error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for the metrics");
}

/* Returns the length to cut back to. */
static size_t enter(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static size_t enter(struct reader *reader, const char *format, ...) {
    size_t length = strlen(reader->path);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->path + length, sizeof reader->path - length, format, arguments);
    va_end(arguments);
    return length;
}

static void leave(struct reader *reader, size_t length) {
    reader->path[length] = 0;
}

static sw_status read_value(struct reader *reader, json_t *json, sw_value *ret);

static sw_status copy_bytes(struct reader *reader, const char *data, size_t size, sw_bytes *ret) {
    char *copy = arena_string(reader->arena, data, size);
    if (!copy) return no_memory(reader);
    *ret = (sw_bytes){copy, size};
    return SW_OK;
}

static sw_status read_text(struct reader *reader, json_t *json, sw_value *ret) {
    static const struct {
        const char *name;
        double number;
    } specials[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    const char *text = json_string_value(json);
    size_t size = json_string_length(json);
    for (size_t i = 0; reader->from_get && i < sizeof specials / sizeof *specials; i++) {
        if (strlen(specials[i].name) != size || memcmp(specials[i].name, text, size) != 0) continue;
        *ret = sw_number(specials[i].number);
        return SW_OK;
    }
    ret->kind = SW_VALUE_TEXT;
    return copy_bytes(reader, text, size, &ret->bytes);
}

static sw_status read_list(struct reader *reader, json_t *json, sw_value *ret) {
    size_t count = json_array_size(json);
    sw_value *items = arena_get(reader->arena, count * sizeof *items);
    if (!items) return no_memory(reader);
    for (size_t i = 0; i < count; i++) {
        size_t here = enter(reader, "[%zu]", i);
        sw_status status = read_value(reader, json_array_get(json, i), &items[i]);
        if (status != SW_OK) return status;
        leave(reader, here);
    }
    *ret = sw_list(items, count);
    return SW_OK;
}

static sw_status read_dict(struct reader *reader, json_t *json, sw_value *ret) {
    size_t count = 0;
    sw_entry *entries = arena_get(reader->arena, json_object_size(json) * sizeof *entries);
    if (!entries) return no_memory(reader);
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        sw_entry *entry = &entries[count++];
        size_t here = enter(reader, ".%s", json_object_iter_key(at));
        sw_status status =
            copy_bytes(reader, json_object_iter_key(at), json_object_iter_key_len(at), &entry->key);
        if (status == SW_OK) status = read_value(reader, json_object_iter_value(at), &entry->value);
        if (status != SW_OK) return status;
        leave(reader, here);
    }
    *ret = sw_dict(entries, count);
    return SW_OK;
}

static sw_status read_blob(struct reader *reader, json_t *text, sw_value *ret) {
    if (!json_is_string(text)) return wrong(reader, "\"$blob\" must hold base64");
    size_t size;
    char *data = arena_get(reader->arena, json_string_length(text));
    if (!data) return no_memory(reader);
    if (!base64_read(json_string_value(text), json_string_length(text), data, &size))
        return wrong(reader, "\"$blob\" must hold base64");
    *ret = (sw_value){.kind = SW_VALUE_BLOB, .bytes = {data, size}};
    return SW_OK;
}

static sw_status read_extension(struct reader *reader, json_t *type, json_t *value, sw_value *ret) {
    if (!json_is_string(type)) return wrong(reader, "\"$extension\" must name a type");
    sw_value *inner = arena_get(reader->arena, sizeof *inner);
    if (!inner) return no_memory(reader);
    *ret = (sw_value){.kind = SW_VALUE_EXTENSION, .extension.value = inner};
    sw_status status =
        copy_bytes(reader, json_string_value(type), json_string_length(type), &ret->extension.type);
    return status == SW_OK ? read_value(reader, value, inner) : status;
}

static sw_status read_object(struct reader *reader, json_t *json, sw_value *ret) {
    size_t members = json_object_size(json);
    json_t *blob = json_object_get(json, "$blob");
    json_t *type = json_object_get(json, "$extension"), *value = json_object_get(json, "value");
    if (reader->from_get && members == 1 && blob) return read_blob(reader, blob, ret);
    if (reader->from_get && members == 2 && type && value) return read_extension(reader, type, value, ret);
    if (reader->from_get && members == 1 && json_object_get(json, "$tensor"))
        return wrong(reader, "is a tensor, whose bytes 'stagewire get' does not print; leave it out");
    return read_dict(reader, json, ret);
}

static sw_status read_value(struct reader *reader, json_t *json, sw_value *ret) {
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return read_object(reader, json, ret);
    case JSON_ARRAY:
        return read_list(reader, json, ret);
    case JSON_STRING:
        return read_text(reader, json, ret);
    case JSON_INTEGER:
        *ret = sw_integer(json_integer_value(json));
        return SW_OK;
    case JSON_REAL:
        *ret = sw_number(json_real_value(json));
        return SW_OK;
    case JSON_TRUE:
        *ret = sw_boolean(true);
        return SW_OK;
    case JSON_FALSE:
        *ret = sw_boolean(false);
        return SW_OK;
    default:
        *ret = sw_null();
        return SW_OK;
    }
}

static const char *type_name(const json_t *json) {
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

/* Metrics are an object, or an array of objects. */
static sw_status read_metrics(struct reader *reader, json_t *json, const sw_value **ret_metrics) {
    for (size_t i = 0; i < json_array_size(json); i++) {
        json_t *item = json_array_get(json, i);
        if (json_is_object(item)) continue;
        return error_set_code(reader->error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "item %zu of the array is %s; metrics are an object, or an array of objects", i,
                              type_name(item));
    }
    sw_value *metrics = arena_get(reader->arena, sizeof *metrics);
    if (!metrics) return no_memory(reader);
    sw_status status =
        json_is_array(json) ? read_list(reader, json, metrics) : read_dict(reader, json, metrics);
    if (status == SW_OK) *ret_metrics = metrics;
    return status;
}

static sw_status read_line_of_get(struct reader *reader, json_t *json, const sw_value **ret_metrics) {
    json_t *metrics = json_object_get(json, "metrics");
    if (json_is_object(metrics) || json_is_array(metrics)) return read_metrics(reader, metrics, ret_metrics);
    return error_set_code(
        reader->error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
        "no line of 'stagewire get --json': it has no member \"metrics\" with an object or an "
        "array");
}

sw_status json_read_metrics(const char *text, size_t size, bool from_get, struct arena *arena,
                            const sw_value **ret_metrics, sw_error *error) {
    json_error_t why;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!json)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "no JSON object or array: line %d, column %d: %s", why.line, why.column,
                              why.text);
    struct reader reader = {.from_get = from_get, .arena = arena, .error = error, .path = "metrics"};
    sw_status status =
        from_get ? read_line_of_get(&reader, json, ret_metrics) : read_metrics(&reader, json, ret_metrics);
    json_decref(json);
    return status;
}
