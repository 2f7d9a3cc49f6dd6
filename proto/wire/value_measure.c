#include "proto/wire/value_tree.h"

#include "proto/wire/wire_format.h"

static uint64_t sum(uint64_t a, uint64_t b) {
    if (a > VALUE_BYTES_MAX || b > VALUE_BYTES_MAX - a) return VALUE_BYTES_MAX;
    return a + b;
}

/* Tag, length and content of a field; all tags of values are one byte. */
uint64_t value_field_bytes(uint64_t content) {
    return sum(1 + varint_size(content), content);
}

static uint64_t shape_bytes(const sw_tensor_view *tensor) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) bytes += varint_size((uint64_t)tensor->shape[i]);
    return bytes;
}

static uint64_t tensor_bytes(const sw_tensor_view *tensor) {
    uint64_t bytes = 2;
    if (tensor->rank > 0) bytes += value_field_bytes(shape_bytes(tensor));
    if (tensor->size > 0) bytes = sum(bytes, value_field_bytes(tensor->size));
    return bytes;
}

static sw_status measure_list(const sw_value *list, unsigned depth, const struct path *path,
                              uint64_t *ret_bytes, sw_error *error) {
    if (list->list.count > 0 && !list->list.items)
        return malformed(error, path, "has items, and they are NULL");
    uint64_t bytes = 0;
    for (size_t i = 0; i < list->list.count; i++) {
        struct path item = path_index(path, i);
        uint64_t content;
        sw_status status = value_measure(&list->list.items[i], depth, &item, &content, error);
        if (status != SW_OK) return status;
        bytes = sum(bytes, value_field_bytes(content));
    }
    *ret_bytes = bytes;
    return SW_OK;
}

static sw_status measure_entry(const sw_entry *entry, unsigned depth, const struct path *path,
                               uint64_t *ret_bytes, sw_error *error) {
    struct path key = path_key(path, entry->key.data, entry->key.data ? entry->key.size : 0);
    uint64_t content;
    sw_status status = value_check_text(entry->key, "a key", &key, error);
    if (status == SW_OK) status = value_measure(&entry->value, depth, &key, &content, error);
    if (status == SW_OK)
        *ret_bytes = value_field_bytes(sum(value_field_bytes(entry->key.size), value_field_bytes(content)));
    return status;
}

static sw_status measure_dict(const sw_value *dict, unsigned depth, const struct path *path,
                              uint64_t *ret_bytes, sw_error *error) {
    if (dict->dict.count > 0 && !dict->dict.entries)
        return malformed(error, path, "has entries, and they are NULL");
    uint64_t bytes = 0;
    for (size_t i = 0; i < dict->dict.count; i++) {
        uint64_t entry;
        sw_status status = measure_entry(&dict->dict.entries[i], depth, path, &entry, error);
        if (status != SW_OK) return status;
        bytes = sum(bytes, entry);
    }
    *ret_bytes = bytes;
    return value_check_keys(dict->dict.entries, dict->dict.count, path, &allocator_system, error);
}

static sw_status measure_extension(const sw_value *extension, unsigned depth, const struct path *path,
                                   uint64_t *ret_bytes, sw_error *error) {
    if (!extension->extension.value) return malformed(error, path, "is an extension without a value");
    uint64_t content;
    sw_status status = value_check_text(extension->extension.type, "an extension's type", path, error);
    if (status == SW_OK) status = value_measure(extension->extension.value, depth, path, &content, error);
    if (status != SW_OK) return status;
    size_t type = extension->extension.type.size;
    *ret_bytes = sum(type > 0 ? value_field_bytes(type) : 0, value_field_bytes(content));
    return SW_OK;
}

static sw_status measure_branch(const sw_value *value, unsigned depth, const struct path *path,
                                uint64_t *ret_bytes, sw_error *error) {
    uint64_t content;
    sw_status status = value_check_depth(depth, path, error);
    if (status != SW_OK) return status;
    if (value->kind == SW_VALUE_DICT)
        status = measure_dict(value, depth + 1, path, &content, error);
    else if (value->kind == SW_VALUE_EXTENSION)
        status = measure_extension(value, depth + 1, path, &content, error);
    else
        status = measure_list(value, depth + 1, path, &content, error);
    if (status == SW_OK) *ret_bytes = value_field_bytes(content);
    return status;
}

sw_status value_measure(const sw_value *value, unsigned depth, const struct path *path, uint64_t *ret_bytes,
                        sw_error *error) {
    sw_status status = SW_OK;
    switch (value->kind) {
    case SW_VALUE_NULL:
    case SW_VALUE_BOOL:
        *ret_bytes = 2;
        return SW_OK;
    case SW_VALUE_INTEGER:
        *ret_bytes = 1 + varint_size((uint64_t)value->integer);
        return SW_OK;
    case SW_VALUE_NUMBER:
        *ret_bytes = 9;
        return SW_OK;
    case SW_VALUE_TEXT:
        status = value_check_text(value->bytes, "text", path, error);
        if (status == SW_OK) *ret_bytes = value_field_bytes(value->bytes.size);
        return status;
    case SW_VALUE_BLOB:
        if (!value->bytes.data && value->bytes.size > 0)
            return malformed(error, path, "is a blob without its bytes");
        *ret_bytes = value_field_bytes(value->bytes.size);
        return SW_OK;
    case SW_VALUE_TENSOR:
        status = value_check_tensor(&value->tensor, path, error);
        if (status == SW_OK) *ret_bytes = value_field_bytes(tensor_bytes(&value->tensor));
        return status;
    case SW_VALUE_LIST:
    case SW_VALUE_TUPLE:
    case SW_VALUE_DICT:
    case SW_VALUE_EXTENSION:
        return measure_branch(value, depth, path, ret_bytes, error);
    }
    return malformed(error, path, "is of kind %d, which this version does not know", (int)value->kind);
}

static sw_status measure_dicts(const sw_value *list, const struct path *path, uint64_t *ret_bytes,
                               sw_error *error) {
    if (list->list.count > 0 && !list->list.items)
        return malformed(error, path, "has items, and they are NULL");
    uint64_t bytes = 0;
    for (size_t i = 0; i < list->list.count; i++) {
        struct path item = path_index(path, i);
        uint64_t content;
        if (list->list.items[i].kind != SW_VALUE_DICT)
            return malformed(error, &item, "is no dict; metrics are a dict or a list of dicts");
        sw_status status = measure_dict(&list->list.items[i], 1, &item, &content, error);
        if (status != SW_OK) return status;
        bytes = sum(bytes, value_field_bytes(content));
    }
    *ret_bytes = bytes;
    return SW_OK;
}

sw_status metrics_measure(const sw_value *metrics, const struct path *path, uint64_t *ret_bytes,
                          sw_error *error) {
    uint64_t content;
    sw_status status;
    if (metrics->kind == SW_VALUE_DICT)
        status = measure_dict(metrics, 1, path, &content, error);
    else if (metrics->kind == SW_VALUE_LIST)
        status = measure_dicts(metrics, path, &content, error);
    else
        return malformed(error, path, "is neither a dict nor a list of dicts");
    if (status == SW_OK) *ret_bytes = value_field_bytes(content);
    return status;
}
