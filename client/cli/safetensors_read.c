#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "client/cli/safetensors.h"
#include "client/cli/safetensors_dtype.h"
#include "proto/base/error.h"

#define SIZE_BYTES 8u

/* A tensor of the header, and where its bytes lie. */
struct entry {
    sw_named_tensor tensor;
    uint64_t begin, end;
};

struct reader {
    const uint8_t *bytes; /* behind the header */
    uint64_t size;
    json_t *metadata; /* or NULL */
    struct entry *entries;
    size_t count;
    struct arena *arena;
    sw_error *error;
};

static sw_status wrong(sw_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static sw_status wrong(sw_error *error, const char *format, ...) {
    char what[SW_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s", what);
}

static sw_status wrong_tensor(const struct reader *reader, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static sw_status wrong_tensor(const struct reader *reader, const char *name, const char *format, ...) {
    char what[SW_ERROR_MESSAGE_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return wrong(reader->error, "tensor \"%.200s\": %s", name, what);
}

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for the file's header");
}

/* ---- numbers ---- */

static bool read_number(const json_t *json, int64_t *ret) {
    if (!json_is_integer(json) || json_integer_value(json) < 0) return false;
    *ret = json_integer_value(json);
    return true;
}

static sw_status read_offsets(struct reader *reader, const json_t *json, struct entry *entry) {
    int64_t begin, end;
    const char *name = entry->tensor.name;
    if (json_array_size(json) != 2 || !read_number(json_array_get(json, 0), &begin) ||
        !read_number(json_array_get(json, 1), &end))
        return wrong_tensor(reader, name, "\"data_offsets\" must be two integers from 0, as in [0, 24]");
    if (begin > end)
        return wrong_tensor(reader, name, "\"data_offsets\" [%" PRId64 ", %" PRId64 "] end before they begin",
                            begin, end);
    if ((uint64_t)end > reader->size)
        return wrong_tensor(reader, name,
                            "its bytes end at %" PRId64 ", and the file has %" PRIu64 " of them", end,
                            reader->size);
    entry->begin = (uint64_t)begin;
    entry->end = (uint64_t)end;
    return SW_OK;
}

/* ---- type and shape ---- */

static sw_status read_shape(struct reader *reader, const json_t *json, struct entry *entry) {
    size_t rank = json_array_size(json);
    const char *name = entry->tensor.name;
    if (!json_is_array(json)) return wrong_tensor(reader, name, "\"shape\" must be an array of integers");
    if (rank > SAFETENSORS_RANK_MAX)
        return wrong_tensor(reader, name, "it has %zu dimensions; at most %d can be", rank,
                            SW_TENSOR_RANK_MAX);
    int64_t *shape = arena_get_array(reader->arena, rank + 1, sizeof *shape);
    if (!shape) return no_memory(reader->error);
    for (size_t i = 0; i < rank; i++)
        if (!read_number(json_array_get(json, i), &shape[i]))
            return wrong_tensor(reader, name, "\"shape\"[%zu] must be an integer from 0", i);
    entry->tensor.view.rank = (uint32_t)rank;
    entry->tensor.view.shape = shape;
    return SW_OK;
}

static int64_t *last_dimension(sw_tensor_view *view) {
    return view->rank > 0 ? (int64_t *)&view->shape[view->rank - 1] : NULL; /* the arena's, see read_shape */
}

/* F4 come in pairs here. */
static sw_status pair_f4(struct reader *reader, struct entry *entry) {
    int64_t *last = last_dimension(&entry->tensor.view);
    if (!last || *last % 2 != 0)
        return wrong_tensor(reader, entry->tensor.name,
                            "two F4 share a byte, so their last dimension must be even");
    *last /= 2;
    return SW_OK;
}

/* What was written as U8 because the format has no such type. */
static sw_status restore(struct reader *reader, struct entry *entry, const char *dtype_name) {
    sw_tensor_view *view = &entry->tensor.view;
    const char *name = entry->tensor.name;
    sw_dtype dtype = sw_dtype_from_name(dtype_name);
    size_t element = sw_dtype_size(dtype);
    const int64_t *last = last_dimension(view);
    if (!dtype)
        return wrong_tensor(reader, name,
                            "its type \"%.40s\" in __metadata__ is none that this version knows", dtype_name);
    if (view->dtype != SW_U8 || (element > 1 && (!last || *last != (int64_t)element)))
        return wrong_tensor(reader, name,
                            "__metadata__ calls it %s, so it must be U8 with a last dimension of %zu",
                            dtype_name, element);
    view->dtype = dtype;
    if (element > 1) view->rank--;
    return SW_OK;
}

static sw_status read_type(struct reader *reader, const json_t *json, struct entry *entry) {
    const char *name = entry->tensor.name, *dtype = json_string_value(json);
    char key[sizeof SAFETENSORS_DTYPE_NOTE + SW_TENSOR_NAME_MAX];
    if (!dtype) return wrong_tensor(reader, name, "\"dtype\" must be a string, as in \"F32\"");
    entry->tensor.view.dtype = safetensors_dtype_from_name(dtype);
    if (!entry->tensor.view.dtype)
        return wrong_tensor(reader, name, "its type \"%.40s\" is none that a tensor can have here", dtype);
    if (entry->tensor.view.dtype == SW_F4_E2M1FN_X2) return pair_f4(reader, entry);
    snprintf(key, sizeof key, SAFETENSORS_DTYPE_NOTE "%s", name);
    const char *noted = json_string_value(json_object_get(reader->metadata, key));
    return noted ? restore(reader, entry, noted) : SW_OK;
}

static sw_status check_size(struct reader *reader, struct entry *entry) {
    sw_tensor_view *view = &entry->tensor.view;
    uint64_t bytes;
    if (view->rank > SW_TENSOR_RANK_MAX)
        return wrong_tensor(reader, entry->tensor.name, "it has %" PRIu32 " dimensions; at most %d can be",
                            view->rank, SW_TENSOR_RANK_MAX);
    if (!sw_tensor_bytes(view->dtype, view->rank, view->shape, &bytes))
        return wrong_tensor(reader, entry->tensor.name, "its shape has more elements than can be");
    if (bytes != entry->end - entry->begin)
        return wrong_tensor(reader, entry->tensor.name,
                            "its shape and type need %" PRIu64 " bytes, and its offsets have %" PRIu64, bytes,
                            entry->end - entry->begin);
    view->data = reader->bytes + entry->begin;
    view->size = bytes;
    return SW_OK;
}

/* ---- a tensor ---- */

static sw_status read_name(struct reader *reader, const char *key, size_t size, struct entry *entry) {
    if (size == 0) return wrong(reader->error, "a tensor has an empty name");
    if (size > SW_TENSOR_NAME_MAX)
        return wrong_tensor(reader, key, "its name has %zu bytes; at most %d can be", size,
                            SW_TENSOR_NAME_MAX);
    entry->tensor.name = arena_string(reader->arena, key, size);
    return entry->tensor.name ? SW_OK : no_memory(reader->error);
}

static sw_status check_members(struct reader *reader, json_t *json, const char *name) {
    static const char *const known[] = {"dtype", "shape", "data_offsets"};
    if (!json_is_object(json)) return wrong_tensor(reader, name, "it must be an object");
    for (size_t i = 0; i < 3; i++)
        if (!json_object_get(json, known[i]))
            return wrong_tensor(reader, name, "\"%s\" is missing", known[i]);
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, known[0]) != 0 && strcmp(key, known[1]) != 0 && strcmp(key, known[2]) != 0)
            return wrong_tensor(reader, name, "the format has no member \"%.80s\"", key);
    }
    return SW_OK;
}

static sw_status read_entry(struct reader *reader, const char *key, size_t size, json_t *json) {
    struct entry *entry = &reader->entries[reader->count];
    sw_status status = read_name(reader, key, size, entry);
    if (status == SW_OK) status = check_members(reader, json, entry->tensor.name);
    if (status == SW_OK) status = read_offsets(reader, json_object_get(json, "data_offsets"), entry);
    if (status == SW_OK) status = read_shape(reader, json_object_get(json, "shape"), entry);
    if (status == SW_OK) status = read_type(reader, json_object_get(json, "dtype"), entry);
    if (status == SW_OK) status = check_size(reader, entry);
    if (status == SW_OK) reader->count++;
    return status;
}

/* ---- all of them ---- */

static sw_status check_metadata(struct reader *reader) {
    const char *key;
    json_t *value;
    if (reader->metadata && !json_is_object(reader->metadata))
        return wrong(reader->error, SAFETENSORS_METADATA " must be an object of strings");
    json_object_foreach(reader->metadata, key, value) if (!json_is_string(value)) return wrong(
        reader->error, SAFETENSORS_METADATA ": \"%.200s\" must be a string", key);
    return SW_OK;
}

static int compare_entries(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* Every byte belongs to one tensor. */
static sw_status check_places(struct reader *reader) {
    qsort(reader->entries, reader->count, sizeof *reader->entries, compare_entries);
    uint64_t at = 0;
    const char *before = NULL;
    for (size_t i = 0; i < reader->count; i++) {
        const struct entry *entry = &reader->entries[i];
        if (entry->begin < at)
            return wrong_tensor(reader, entry->tensor.name,
                                "its bytes begin at %" PRIu64 ", within those of \"%.200s\"", entry->begin,
                                before);
        if (entry->begin > at)
            return wrong_tensor(reader, entry->tensor.name,
                                "the bytes from %" PRIu64 " to %" PRIu64 " before it belong to no tensor", at,
                                entry->begin);
        at = entry->end;
        before = entry->tensor.name;
    }
    if (at < reader->size)
        return wrong(reader->error, "the tensors' bytes end at %" PRIu64 ", and the file has %" PRIu64, at,
                     reader->size);
    return SW_OK;
}

static sw_status read_entries(struct reader *reader, json_t *header) {
    sw_status status = check_metadata(reader);
    for (void *at = json_object_iter(header); status == SW_OK && at; at = json_object_iter_next(header, at)) {
        const char *key = json_object_iter_key(at);
        if (strcmp(key, SAFETENSORS_METADATA) != 0)
            status = read_entry(reader, key, json_object_iter_key_len(at), json_object_iter_value(at));
    }
    return status == SW_OK ? check_places(reader) : status;
}

static sw_status hand_out(const struct reader *reader, struct safetensors *ret) {
    sw_named_tensor *tensors = arena_get_array(reader->arena, reader->count + 1, sizeof *tensors);
    if (!tensors) return no_memory(reader->error);
    for (size_t i = 0; i < reader->count; i++) tensors[i] = reader->entries[i].tensor;
    ret->tensors = tensors;
    ret->count = reader->count;
    return SW_OK;
}

static sw_status read_header(json_t *header, const uint8_t *bytes, uint64_t size, struct safetensors *ret,
                             sw_error *error) {
    struct reader reader = {.bytes = bytes,
                            .size = size,
                            .metadata = json_object_get(header, SAFETENSORS_METADATA),
                            .entries = calloc(json_object_size(header) + 1, sizeof *reader.entries),
                            .arena = &ret->arena,
                            .error = error};
    if (!reader.entries) return no_memory(error);
    sw_status status = read_entries(&reader, header);
    if (status == SW_OK) status = hand_out(&reader, ret);
    free(reader.entries);
    return status;
}

/* The size of the header, and that it lies within the file. */
static sw_status read_size(const uint8_t *bytes, size_t size, uint64_t *ret_header, sw_error *error) {
    uint64_t header = 0;
    if (size < SIZE_BYTES)
        return wrong(error,
                     "%zu bytes are no safetensors file: it begins with 8 bytes that say how long its "
                     "header is",
                     size);
    for (unsigned i = 0; i < SIZE_BYTES; i++) header |= (uint64_t)bytes[i] << 8 * i;
    if (header > SAFETENSORS_HEADER_MAX)
        return wrong(error,
                     "its first 8 bytes say that the header has %" PRIu64 " bytes, and at most %u can be; "
                     "is it a safetensors file?",
                     header, SAFETENSORS_HEADER_MAX);
    if (header > size - SIZE_BYTES)
        return wrong(error, "the header has %" PRIu64 " bytes, and only %zu follow: the file is cut off",
                     header, size - SIZE_BYTES);
    if (header == 0 || bytes[SIZE_BYTES] != '{') return wrong(error, "the header does not begin with '{'");
    *ret_header = header;
    return SW_OK;
}

sw_status safetensors_read(const void *data, size_t size, struct safetensors *ret, sw_error *error) {
    const uint8_t *bytes = data;
    uint64_t header_size = 0;
    sw_status status = read_size(bytes, size, &header_size, error);
    if (status != SW_OK) return status;
    json_error_t why;
    json_t *header = json_loadb((const char *)bytes + SIZE_BYTES, header_size, JSON_REJECT_DUPLICATES, &why);
    if (!header)
        return wrong(error, "the header is no JSON object: line %d, column %d: %s", why.line, why.column,
                     why.text);
    struct safetensors file = {0};
    arena_init(&file.arena, &allocator_system, SIZE_MAX);
    uint64_t start = SIZE_BYTES + header_size;
    status = read_header(header, bytes + start, size - start, &file, error);
    json_decref(header);
    if (status == SW_OK)
        *ret = file;
    else
        arena_destroy(&file.arena);
    return status;
}

void safetensors_destroy(struct safetensors *file) {
    arena_destroy(&file->arena);
}
