#include "proto/wire/value_codec.h"

#include <string.h>

#include "proto/wire/decode.h"
#include "proto/wire/reader.h"
#include "proto/wire/value_tree.h"

/* Every level is checked for depth before it is entered: the recursion ends at SW_VALUE_DEPTH_MAX. `bytes` of
 * texts and blobs stay where the copy of the message lies; tensors are copied once more, for their alignment.
 */
struct decoding {
    struct arena *arena;
    sw_error *error;
};

static sw_status broken(struct decoding *d, const struct path *path) {
    return malformed(d->error, path, "ends in the middle of a field, or holds something that is no protobuf");
}

static sw_status wrong_type(struct decoding *d, const struct path *path) {
    return malformed(d->error, path, "has another type on the wire than its own");
}

static sw_status decode_value(struct decoding *d, struct span span, unsigned depth, const struct path *path,
                              sw_value *ret);

/* ---- tensors ---- */

static sw_status add_dimension(struct decoding *d, uint64_t dimension, int64_t *shape, uint32_t *rank,
                               const struct path *path) {
    if (*rank == SW_TENSOR_RANK_MAX)
        return malformed(d->error, path, "is a tensor of a rank above %d", SW_TENSOR_RANK_MAX);
    shape[(*rank)++] = (int64_t)dimension;
    return SW_OK;
}

static sw_status decode_shape(struct decoding *d, const struct wire_field *field, int64_t *shape,
                              uint32_t *rank, const struct path *path) {
    if (field->type == WIRE_VARINT) return add_dimension(d, field->value, shape, rank, path);
    if (field->type != WIRE_BYTES) return wrong_type(d, path);
    struct reader reader = reader_over(field->bytes);
    while (reader.at < reader.end) {
        uint64_t dimension;
        if (!reader_varint(&reader, &dimension)) return broken(d, path);
        sw_status status = add_dimension(d, dimension, shape, rank, path);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

static sw_status keep_tensor(struct decoding *d, const int64_t *shape, struct span data,
                             const struct path *path, sw_tensor_view *tensor) {
    tensor->shape = shape;
    tensor->data = data.data;
    tensor->size = data.size;
    sw_status status = value_check_tensor(tensor, path, d->error);
    if (status != SW_OK) return status;
    int64_t *kept_shape = arena_get_array(d->arena, tensor->rank, sizeof *shape);
    void *kept_data = arena_get(d->arena, data.size);
    if (!kept_shape || !kept_data) return decode_out_of_memory(d->arena, d->error);
    if (tensor->rank > 0) memcpy(kept_shape, shape, tensor->rank * sizeof *shape);
    if (data.size > 0) memcpy(kept_data, data.data, data.size);
    tensor->shape = kept_shape;
    tensor->data = kept_data;
    return SW_OK;
}

static sw_status decode_tensor(struct decoding *d, struct span span, const struct path *path,
                               sw_tensor_view *ret) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    struct span data = {NULL, 0};
    int64_t shape[SW_TENSOR_RANK_MAX];
    *ret = (sw_tensor_view){0};
    while (reader_next(&reader, &field)) {
        sw_status status = SW_OK;
        if (field.number == TENSOR_DTYPE && field.type == WIRE_VARINT)
            ret->dtype = field.value <= INT32_MAX ? (sw_dtype)field.value : (sw_dtype)0;
        else if (field.number == TENSOR_SHAPE)
            status = decode_shape(d, &field, shape, &ret->rank, path);
        else if (field.number == TENSOR_DATA && field.type == WIRE_BYTES)
            data = field.bytes;
        else if (field.number <= TENSOR_DATA)
            status = wrong_type(d, path);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    return keep_tensor(d, shape, data, path, ret);
}

/* ---- lists, dicts, extensions ---- */

static sw_status decode_list(struct decoding *d, struct span span, unsigned depth, const struct path *path,
                             sw_value *ret) {
    size_t count = reader_count(span, LIST_ITEMS);
    sw_value *items = arena_get_array(d->arena, count, sizeof *items);
    if (!items) return decode_out_of_memory(d->arena, d->error);
    struct reader reader = reader_over(span);
    struct wire_field field;
    for (size_t i = 0; reader_next(&reader, &field);) {
        if (field.number != LIST_ITEMS) continue;
        struct path item = path_index(path, i);
        if (field.type != WIRE_BYTES) return wrong_type(d, &item);
        sw_status status = decode_value(d, field.bytes, depth, &item, &items[i++]);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    ret->list.items = items;
    ret->list.count = count;
    return SW_OK;
}

static sw_bytes text_of(struct span span) {
    return (sw_bytes){(const char *)span.data, span.size};
}

/* A key and a value, or a type and a value: fields 1 and 2 of an entry and of an extension. */
static sw_status split_pair(struct decoding *d, struct span span, const struct path *path, sw_bytes *ret_text,
                            struct span *ret_value) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    struct span parts[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    bool seen[3] = {false, false, false};
    while (reader_next(&reader, &field)) {
        if (field.number > ENTRY_VALUE) continue;
        if (field.type != WIRE_BYTES) return wrong_type(d, path);
        if (seen[field.number]) return malformed(d->error, path, "has a key or a value twice");
        seen[field.number] = true;
        parts[field.number] = field.bytes;
    }
    if (reader.broken) return broken(d, path);
    *ret_text = seen[ENTRY_KEY] ? text_of(parts[ENTRY_KEY]) : (sw_bytes){"", 0};
    *ret_value = parts[ENTRY_VALUE];
    return SW_OK;
}

static sw_status decode_entry(struct decoding *d, struct span span, unsigned depth, const struct path *path,
                              sw_entry *ret) {
    struct span value;
    sw_status status = split_pair(d, span, path, &ret->key, &value);
    if (status != SW_OK) return status;
    struct path key = path_key(path, ret->key.data, ret->key.size);
    status = value_check_text(ret->key, "a key", &key, d->error);
    if (status == SW_OK) status = decode_value(d, value, depth, &key, &ret->value);
    return status;
}

/* `depth` is that of the dict itself, already checked. */
static sw_status decode_dict(struct decoding *d, struct span span, unsigned depth, const struct path *path,
                             sw_value *ret) {
    size_t count = reader_count(span, MAP_VALUES);
    sw_entry *entries = arena_get_array(d->arena, count, sizeof *entries);
    if (!entries) return decode_out_of_memory(d->arena, d->error);
    struct reader reader = reader_over(span);
    struct wire_field field;
    for (size_t i = 0; reader_next(&reader, &field);) {
        if (field.number != MAP_VALUES) continue;
        if (field.type != WIRE_BYTES) return wrong_type(d, path);
        sw_status status = decode_entry(d, field.bytes, depth, path, &entries[i++]);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    ret->kind = SW_VALUE_DICT;
    ret->dict.entries = entries;
    ret->dict.count = count;
    return value_check_keys(entries, count, path, d->arena->allocator, d->error);
}

static sw_status decode_extension(struct decoding *d, struct span span, unsigned depth,
                                  const struct path *path, sw_value *ret) {
    struct span content;
    sw_value *value = arena_get(d->arena, sizeof *value);
    if (!value) return decode_out_of_memory(d->arena, d->error);
    sw_status status = split_pair(d, span, path, &ret->extension.type, &content);
    if (status == SW_OK)
        status = value_check_text(ret->extension.type, "an extension's type", path, d->error);
    if (status == SW_OK) status = decode_value(d, content, depth, path, value);
    ret->extension.value = value;
    return status;
}

/* ---- values ---- */

static sw_status decode_branch(struct decoding *d, const struct wire_field *field, unsigned depth,
                               const struct path *path, sw_value *ret) {
    sw_status status = value_check_depth(depth, path, d->error);
    if (status != SW_OK) return status;
    switch (field->number) {
    case VALUE_LIST:
        ret->kind = SW_VALUE_LIST;
        return decode_list(d, field->bytes, depth + 1, path, ret);
    case VALUE_TUPLE:
        ret->kind = SW_VALUE_TUPLE;
        return decode_list(d, field->bytes, depth + 1, path, ret);
    case VALUE_MAP:
        return decode_dict(d, field->bytes, depth + 1, path, ret);
    default:
        ret->kind = SW_VALUE_EXTENSION;
        return decode_extension(d, field->bytes, depth + 1, path, ret);
    }
}

static enum wire_type type_of_kind(uint32_t number) {
    if (number == VALUE_NUMBER) return WIRE_FIXED64;
    return number < VALUE_NUMBER ? WIRE_VARINT : WIRE_BYTES;
}

static sw_status decode_kind(struct decoding *d, const struct wire_field *field, unsigned depth,
                             const struct path *path, sw_value *ret) {
    switch (field->number) {
    case VALUE_NULL:
        ret->kind = SW_VALUE_NULL;
        return SW_OK;
    case VALUE_BOOLEAN:
        ret->kind = SW_VALUE_BOOL;
        ret->boolean = field->value != 0;
        return SW_OK;
    case VALUE_INTEGER:
        ret->kind = SW_VALUE_INTEGER;
        ret->integer = (int64_t)field->value;
        return SW_OK;
    case VALUE_NUMBER:
        ret->kind = SW_VALUE_NUMBER;
        memcpy(&ret->number, &field->value, sizeof ret->number);
        return SW_OK;
    case VALUE_TEXT:
    case VALUE_BLOB:
        ret->kind = field->number == VALUE_TEXT ? SW_VALUE_TEXT : SW_VALUE_BLOB;
        ret->bytes = text_of(field->bytes);
        return field->number == VALUE_TEXT ? value_check_text(ret->bytes, "text", path, d->error) : SW_OK;
    case VALUE_TENSOR:
        ret->kind = SW_VALUE_TENSOR;
        return decode_tensor(d, field->bytes, path, &ret->tensor);
    default:
        return decode_branch(d, field, depth, path, ret);
    }
}

static sw_status decode_value(struct decoding *d, struct span span, unsigned depth, const struct path *path,
                              sw_value *ret) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    bool seen = false;
    while (reader_next(&reader, &field)) {
        if (field.number > VALUE_EXTENSION) continue;
        if (seen) return malformed(d->error, path, "is of two kinds at once");
        if (field.type != type_of_kind(field.number)) return wrong_type(d, path);
        seen = true;
        sw_status status = decode_kind(d, &field, depth, path, ret);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    if (!seen)
        return malformed(d->error, path, "holds no value, or one of a kind that this version does not know");
    return SW_OK;
}

static sw_status decode_dicts(struct decoding *d, struct span span, const struct path *path, sw_value *ret) {
    size_t count = reader_count(span, LIST_ITEMS);
    sw_value *items = arena_get_array(d->arena, count, sizeof *items);
    if (!items) return decode_out_of_memory(d->arena, d->error);
    struct reader reader = reader_over(span);
    struct wire_field field;
    for (size_t i = 0; reader_next(&reader, &field);) {
        if (field.number != LIST_ITEMS) continue;
        struct path item = path_index(path, i);
        if (field.type != WIRE_BYTES) return wrong_type(d, &item);
        sw_status status = decode_dict(d, field.bytes, 1, &item, &items[i++]);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    *ret = (sw_value){.kind = SW_VALUE_LIST, .list = {items, count}};
    return SW_OK;
}

static sw_status decode_metrics(struct decoding *d, struct span span, const struct path *path,
                                sw_value *ret) {
    struct reader reader = reader_over(span);
    struct wire_field field;
    bool seen = false;
    while (reader_next(&reader, &field)) {
        if (field.number > METRICS_LIST) continue;
        if (seen) return malformed(d->error, path, "is of two shapes at once");
        if (field.type != WIRE_BYTES) return wrong_type(d, path);
        seen = true;
        sw_status status = field.number == METRICS_SINGLE ? decode_dict(d, field.bytes, 1, path, ret)
                                                          : decode_dicts(d, field.bytes, path, ret);
        if (status != SW_OK) return status;
    }
    if (reader.broken) return broken(d, path);
    if (!seen) return malformed(d->error, path, "is neither a dict nor a list of dicts");
    return SW_OK;
}

/* ---- entry points ---- */

static sw_status copy_message(struct decoding *d, const void *data, size_t size, struct span *ret,
                              sw_value **ret_root) {
    uint8_t *copy = arena_get(d->arena, size);
    sw_value *root = arena_get(d->arena, sizeof *root);
    if (!copy || !root) return decode_out_of_memory(d->arena, d->error);
    if (size > 0) memcpy(copy, data, size);
    *ret = (struct span){copy, size};
    *ret_root = root;
    return SW_OK;
}

sw_status value_decode(const void *data, size_t size, struct arena *arena, const sw_value **ret_value,
                       sw_error *error) {
    struct decoding d = {arena, error};
    struct path root = path_field(NULL, "value");
    struct span span;
    sw_value *value;
    sw_status status = copy_message(&d, data, size, &span, &value);
    if (status == SW_OK) status = decode_value(&d, span, 0, &root, value);
    if (status == SW_OK) *ret_value = value;
    return status;
}

sw_status metrics_decode(const void *data, size_t size, struct arena *arena, const sw_value **ret_metrics,
                         sw_error *error) {
    struct decoding d = {arena, error};
    struct path root = path_field(NULL, "metrics");
    struct span span;
    sw_value *metrics;
    sw_status status = copy_message(&d, data, size, &span, &metrics);
    if (status == SW_OK) status = decode_metrics(&d, span, &root, metrics);
    if (status == SW_OK) *ret_metrics = metrics;
    return status;
}
