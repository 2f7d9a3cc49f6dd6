#include "proto/wire/value_codec.h"

#include "proto/wire/digests.h"

/* What is summed or joined ends with how many there were and of which kind. */
static struct digest close(sw_value_kind kind, struct digest content, uint64_t count) {
    const uint64_t frame[3] = {content.low, content.high, count};
    return digest_of_bytes((unsigned)kind, frame, sizeof frame);
}

static struct digest of_list(const sw_value *list) {
    struct digest all = {0, 0};
    for (size_t i = 0; i < list->list.count; i++) all = digest_join(all, value_digest(&list->list.items[i]));
    return close(list->kind, all, list->list.count);
}

/* Each key is there once, so that a sum, which knows no order, stands for all. */
static struct digest of_dict(const sw_value *dict) {
    struct digest all = {0, 0};
    for (size_t i = 0; i < dict->dict.count; i++) {
        const sw_entry *entry = &dict->dict.entries[i];
        struct digest key = digest_of_bytes(DIGEST_KEY, entry->key.data, entry->key.size);
        all = digest_sum(all, digest_join(key, value_digest(&entry->value)));
    }
    return close(dict->kind, all, dict->dict.count);
}

static struct digest of_tensor(const sw_tensor_view *tensor) {
    const uint64_t parts[2] = {(uint64_t)tensor->dtype, tensor->rank};
    struct digest all = digest_of_bytes(DIGEST_TENSOR_PARTS, parts, sizeof parts);
    all =
        digest_join(all, digest_of_bytes(DIGEST_TENSOR_SHAPE, tensor->shape, tensor->rank * sizeof(int64_t)));
    return digest_join(all, digest_of_bytes(SW_VALUE_TENSOR, tensor->data, tensor->size));
}

static struct digest of_extension(const sw_value *extension) {
    sw_bytes type = extension->extension.type;
    struct digest all = digest_of_bytes(DIGEST_KEY, type.data, type.size);
    return close(SW_VALUE_EXTENSION, digest_join(all, value_digest(extension->extension.value)), 1);
}

struct digest value_digest(const sw_value *value) {
    const unsigned char truth = value->kind == SW_VALUE_BOOL && value->boolean;
    switch (value->kind) {
    case SW_VALUE_NULL:
        return digest_of_bytes(SW_VALUE_NULL, NULL, 0);
    case SW_VALUE_BOOL:
        return digest_of_bytes(SW_VALUE_BOOL, &truth, sizeof truth);
    case SW_VALUE_INTEGER:
        return digest_of_bytes(SW_VALUE_INTEGER, &value->integer, sizeof value->integer);
    case SW_VALUE_NUMBER:
        return digest_of_bytes(SW_VALUE_NUMBER, &value->number, sizeof value->number);
    case SW_VALUE_TEXT:
    case SW_VALUE_BLOB:
        return digest_of_bytes((unsigned)value->kind, value->bytes.data, value->bytes.size);
    case SW_VALUE_TENSOR:
        return of_tensor(&value->tensor);
    case SW_VALUE_LIST:
    case SW_VALUE_TUPLE:
        return of_list(value);
    case SW_VALUE_DICT:
        return of_dict(value);
    case SW_VALUE_EXTENSION:
        return of_extension(value);
    }
    return (struct digest){0, 0};
}

bool value_same(const sw_value *a, const sw_value *b) {
    return digest_equal(value_digest(a), value_digest(b));
}
