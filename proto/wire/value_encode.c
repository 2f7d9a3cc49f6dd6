#include "proto/wire/value_codec.h"

#include <inttypes.h>

#include "proto/base/buffer.h"
#include "proto/base/error.h"
#include "proto/wire/backwards.h"
#include "proto/wire/value_tree.h"

static void put_tensor(struct backwards *out, const sw_tensor_view *tensor) {
    const uint8_t *end = out->at;
    if (tensor->size > 0) backwards_bytes(out, TENSOR_DATA, tensor->data, tensor->size);
    if (tensor->rank > 0) {
        const uint8_t *shape_end = out->at;
        for (uint32_t i = tensor->rank; i > 0; i--) backwards_varint(out, (uint64_t)tensor->shape[i - 1]);
        backwards_frame(out, TENSOR_SHAPE, shape_end);
    }
    backwards_number(out, TENSOR_DTYPE, (uint64_t)tensor->dtype);
    backwards_frame(out, VALUE_TENSOR, end);
}

static void put_value(struct backwards *out, const sw_value *value);

static void put_items(struct backwards *out, const sw_value *list) {
    for (size_t i = list->list.count; i > 0; i--) {
        const uint8_t *end = out->at;
        put_value(out, &list->list.items[i - 1]);
        backwards_frame(out, LIST_ITEMS, end);
    }
}

static void put_entries(struct backwards *out, const sw_value *dict) {
    for (size_t i = dict->dict.count; i > 0; i--) {
        const sw_entry *entry = &dict->dict.entries[i - 1];
        const uint8_t *end = out->at;
        put_value(out, &entry->value);
        backwards_frame(out, ENTRY_VALUE, end);
        backwards_bytes(out, ENTRY_KEY, entry->key.data, entry->key.size);
        backwards_frame(out, MAP_VALUES, end);
    }
}

static void put_extension(struct backwards *out, const sw_value *extension) {
    const uint8_t *end = out->at;
    sw_bytes type = extension->extension.type;
    put_value(out, extension->extension.value);
    backwards_frame(out, EXTENSION_VALUE, end);
    if (type.size > 0) backwards_bytes(out, EXTENSION_TYPE, type.data, type.size);
}

/* A member of a oneof is written also where it is 0 or empty: it says which. */
static void put_value(struct backwards *out, const sw_value *value) {
    const uint8_t *end = out->at;
    switch (value->kind) {
    case SW_VALUE_NULL:
        return backwards_number(out, VALUE_NULL, 0);
    case SW_VALUE_BOOL:
        return backwards_number(out, VALUE_BOOLEAN, value->boolean);
    case SW_VALUE_INTEGER:
        return backwards_number(out, VALUE_INTEGER, (uint64_t)value->integer);
    case SW_VALUE_NUMBER:
        return backwards_double(out, VALUE_NUMBER, value->number);
    case SW_VALUE_TEXT:
        return backwards_bytes(out, VALUE_TEXT, value->bytes.data, value->bytes.size);
    case SW_VALUE_BLOB:
        return backwards_bytes(out, VALUE_BLOB, value->bytes.data, value->bytes.size);
    case SW_VALUE_TENSOR:
        return put_tensor(out, &value->tensor);
    case SW_VALUE_LIST:
        put_items(out, value);
        return backwards_frame(out, VALUE_LIST, end);
    case SW_VALUE_TUPLE:
        put_items(out, value);
        return backwards_frame(out, VALUE_TUPLE, end);
    case SW_VALUE_DICT:
        put_entries(out, value);
        return backwards_frame(out, VALUE_MAP, end);
    case SW_VALUE_EXTENSION:
        put_extension(out, value);
        return backwards_frame(out, VALUE_EXTENSION, end);
    }
}

static void put_metrics(struct backwards *out, const sw_value *metrics) {
    const uint8_t *end = out->at;
    if (metrics->kind == SW_VALUE_DICT) {
        put_entries(out, metrics);
        return backwards_frame(out, METRICS_SINGLE, end);
    }
    for (size_t i = metrics->list.count; i > 0; i--) {
        const uint8_t *item_end = out->at;
        put_entries(out, &metrics->list.items[i - 1]);
        backwards_frame(out, LIST_ITEMS, item_end);
    }
    backwards_frame(out, METRICS_LIST, end);
}

static sw_status check_size(uint64_t bytes, bool whatever_size, const char *what, sw_error *error) {
    if (bytes < VALUE_BYTES_MAX && (whatever_size || bytes <= SW_MESSAGE_MAX)) return SW_OK;
    return error_set(error, SW_REASON_TOO_LARGE,
                     "%s %s%" PRIu64
                     " bytes encoded and a message at most %u; send the larger parts as tensors",
                     what, bytes < VALUE_BYTES_MAX ? "takes " : "takes more than ", bytes, SW_MESSAGE_MAX);
}

static sw_status write_all(const sw_value *value, void (*put)(struct backwards *, const sw_value *),
                           uint64_t bytes, sw_buffer **ret_bytes, struct digest *ret_digest,
                           sw_error *error) {
    sw_buffer *buffer;
    void *data;
    sw_status status = buffer_create((size_t)bytes, &buffer, &data, error);
    if (status != SW_OK) return status;
    struct backwards out = {(uint8_t *)data + bytes};
    put(&out, value);
    if (ret_digest) *ret_digest = value_digest(value);
    *ret_bytes = buffer;
    return SW_OK;
}

sw_status value_encode(const sw_value *value, bool whatever_size, sw_buffer **ret_bytes,
                       struct digest *ret_digest, sw_error *error) {
    struct path root = path_field(NULL, "value");
    uint64_t bytes;
    sw_status status = value_measure(value, 0, &root, &bytes, error);
    if (status == SW_OK) status = check_size(bytes, whatever_size, "the value", error);
    if (status == SW_OK) status = write_all(value, put_value, bytes, ret_bytes, ret_digest, error);
    return status;
}

sw_status metrics_encode(const sw_value *metrics, bool whatever_size, sw_buffer **ret_bytes,
                         struct digest *ret_digest, sw_error *error) {
    struct path root = path_field(NULL, "metrics");
    uint64_t bytes;
    sw_status status = metrics_measure(metrics, &root, &bytes, error);
    if (status == SW_OK) status = check_size(bytes, whatever_size, "the dict of metrics", error);
    if (status == SW_OK) status = write_all(metrics, put_metrics, bytes, ret_bytes, ret_digest, error);
    return status;
}
