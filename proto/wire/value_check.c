#include "proto/wire/value_tree.h"

#include <inttypes.h>

#include "proto/base/error.h"
#include "proto/base/utf8.h"
#include "proto/wire/repeated.h"

sw_status value_check_text(sw_bytes text, const char *what, const struct path *path, sw_error *error) {
    if (!text.data && text.size > 0) return malformed(error, path, "has %s without its bytes", what);
    if (utf8_valid(text.data, text.size)) return SW_OK;
    return malformed(error, path, "has %s that is not UTF-8; bytes that are no text travel as a blob", what);
}

sw_status value_check_tensor(const sw_tensor_view *tensor, const struct path *path, sw_error *error) {
    uint64_t bytes;
    if (sw_dtype_size(tensor->dtype) == 0)
        return malformed(error, path, "is a tensor of type %d, which this version does not know",
                         (int)tensor->dtype);
    if (tensor->rank > SW_TENSOR_RANK_MAX)
        return malformed(error, path, "is a tensor of rank %" PRIu32 "; at most %d can be sent", tensor->rank,
                         SW_TENSOR_RANK_MAX);
    if (tensor->rank > 0 && !tensor->shape) return malformed(error, path, "is a tensor without its shape");
    if (!sw_tensor_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes))
        return malformed(error, path, "is a tensor with a shape that is negative or beyond all memory");
    if (bytes != tensor->size)
        return malformed(error, path, "is a tensor of %zu bytes where shape and type say %" PRIu64,
                         tensor->size, bytes);
    if (bytes > 0 && !tensor->data) return malformed(error, path, "is a tensor without its bytes");
    return SW_OK;
}

sw_status value_check_depth(unsigned depth, const struct path *path, sw_error *error) {
    if (depth < SW_VALUE_DEPTH_MAX) return SW_OK;
    return malformed(error, path, "nests deeper than %d levels; flatten it, or send it as bytes",
                     SW_VALUE_DEPTH_MAX);
}

sw_status value_check_keys(const sw_entry *entries, size_t count, const struct path *path,
                           const struct allocator *allocator, sw_error *error) {
    size_t index;
    const sw_bytes *keys = count > 0 ? &entries[0].key : NULL;
    if (!repeated_find(keys, sizeof *entries, count, allocator, &index)) return error_no_memory(error);
    if (index == count) return SW_OK;
    struct path key = path_key(path, entries[index].key.data, entries[index].key.size);
    return malformed(error, &key, "is there twice; a dict has each key once");
}
