#include "client/core/wishes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"

static sw_status bad_name(uint32_t index, const char *why, sw_error *error) {
    char path[32];
    snprintf(path, sizeof path, "tensors[%u].name", index);
    sw_status status = error_set(error, SW_REASON_MALFORMED, "%s %s", path, why);
    error_add(error, "path", path);
    return status;
}

static sw_status check_name(const sw_tensor_request *request, uint32_t index, sw_error *error) {
    if (!request->name || !request->name[0])
        return bad_name(index, "is empty; name a tensor, or pull all with no names", error);
    if (strlen(request->name) > SW_TENSOR_NAME_MAX)
        return bad_name(index, "is longer than 512 bytes, which no tensor's is", error);
    return SW_OK;
}

static sw_status copy_request(struct wishes *wishes, sw_tensor_request *copy,
                              const sw_tensor_request *request, uint32_t index, sw_error *error) {
    sw_status status = check_name(request, index, error);
    if (status != SW_OK) return status;
    *copy = *request;
    copy->name = arena_string(&wishes->arena, request->name, strlen(request->name));
    if (!copy->name) return error_no_memory(error);
    names_add(&wishes->by_name, copy->name, index);
    return SW_OK;
}

static sw_status copy_all(struct wishes *wishes, const sw_tensor_request *requests, sw_error *error) {
    uint32_t count = wishes->count;
    sw_tensor_request *copies = arena_get(&wishes->arena, count * sizeof *copies);
    if (!copies || !names_init(&wishes->by_name, count, &allocator_system)) return error_no_memory(error);
    wishes->requests = copies;
    for (uint32_t i = 0; i < count; i++) {
        sw_status status = copy_request(wishes, &copies[i], &requests[i], i, error);
        if (status != SW_OK) return status;
    }
    names_sort(&wishes->by_name);
    const char *twice = names_twice(&wishes->by_name);
    if (twice) return bad_name((uint32_t)names_find(&wishes->by_name, twice), "is there twice", error);
    return SW_OK;
}

sw_status wishes_init(struct wishes *wishes, const sw_tensor_request *requests, uint32_t count,
                      sw_error *error) {
    memset(wishes, 0, sizeof *wishes);
    arena_init(&wishes->arena, &allocator_system, LIMIT_DECODE_BYTES);
    if (!requests || count == 0) return SW_OK;
    if (count > LIMIT_ITEM_TENSORS)
        return error_set(error, SW_REASON_MALFORMED, "%u tensors are asked for; an item has at most %u",
                         count, LIMIT_ITEM_TENSORS);
    wishes->count = count;
    sw_status status = copy_all(wishes, requests, error);
    if (status != SW_OK) wishes_destroy(wishes);
    return status;
}

void wishes_destroy(struct wishes *wishes) {
    names_destroy(&wishes->by_name);
    arena_destroy(&wishes->arena);
    memset(wishes, 0, sizeof *wishes);
}

static const struct tensor_info *info_of(const struct names *by_name, const struct manifest *manifest,
                                         const char *name) {
    int64_t index = names_find(by_name, name);
    return index < 0 ? NULL : &manifest->tensors[index];
}

static sw_status no_such_tensor(const struct manifest *manifest, const char *name, sw_error *error) {
    char words[ADDRESS_WORDS_MAX];
    sw_status status =
        error_set(error, SW_REASON_NO_SUCH_TENSOR, "%s has no tensor \"%s\"; pull one that it has",
                  address_in_words(words, sizeof words, &manifest->address, SW_TENSORS), name);
    if (!error) return status;
    const char *names[64];
    uint32_t count = manifest->tensor_count < 64 ? manifest->tensor_count : 64;
    for (uint32_t i = 0; i < count; i++) names[i] = manifest->tensors[i].name;
    error_add_strings(error, "tensors", names, count);
    return status;
}

static void shape_in_words(const struct tensor_info *info, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < info->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "", info->shape[i]);
}

static sw_status wrong_size(const struct manifest *manifest, const sw_tensor_request *request,
                            const struct tensor_info *info, sw_error *error) {
    char words[ADDRESS_WORDS_MAX], shape[360];
    shape_in_words(info, shape, sizeof shape);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "the memory for tensor \"%s\" has %zu bytes, and the tensor %" PRIu64
                          " (%s [%s], %s); nothing was written",
                          info->name, request->into_size, info->byte_length, sw_dtype_name(info->dtype),
                          shape, address_in_words(words, sizeof words, &manifest->address, SW_TENSORS));
}

static sw_status check_fit(const struct wishes *wishes, const struct manifest *manifest,
                           const struct names *by_name, sw_error *error) {
    for (uint32_t i = 0; i < wishes->count; i++) {
        const sw_tensor_request *request = &wishes->requests[i];
        const struct tensor_info *info = info_of(by_name, manifest, request->name);
        if (!info) return no_such_tensor(manifest, request->name, error);
        if (request->into && request->into_size != info->byte_length)
            return wrong_size(manifest, request, info, error);
    }
    return SW_OK;
}

sw_status wishes_fit(const struct wishes *wishes, const struct manifest *manifest, sw_error *error) {
    if (wishes->count == 0) return SW_OK;
    struct names by_name;
    if (!names_init(&by_name, manifest->tensor_count, &allocator_system)) return error_no_memory(error);
    for (uint32_t i = 0; i < manifest->tensor_count; i++) names_add(&by_name, manifest->tensors[i].name, i);
    names_sort(&by_name);
    sw_status status = check_fit(wishes, manifest, &by_name, error);
    names_destroy(&by_name);
    return status;
}
