#include "proto/wire/messages.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/wire/check.h"
#include "proto/wire/pb.h"
#include "proto/wire/repeated.h"

/* ---- rules ---- */

uint64_t manifest_bytes(const struct manifest *manifest) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < manifest->tensor_count; i++) {
        if (__builtin_add_overflow(bytes, manifest->tensors[i].byte_length, &bytes)) return UINT64_MAX;
    }
    return bytes;
}

static sw_status check_name_and_type(const struct tensor_info *tensor, const struct path *path,
                                     sw_error *error) {
    struct path name = path_field(path, "name"), dtype = path_field(path, "dtype");
    sw_status status = check_text(tensor->name, 1, SW_TENSOR_NAME_MAX, "a tensor's name", &name, error);
    if (status != SW_OK) return status;
    if (strcmp(tensor->name, "__metadata__") == 0)
        return malformed(error, &name, "is \"__metadata__\", which safetensors keeps for itself");
    if ((int)tensor->dtype == 0) return malformed(error, &dtype, "is not set");
    if (sw_dtype_size(tensor->dtype) == 0)
        return malformed(error, &dtype, "is %d, which this version does not know", (int)tensor->dtype);
    return SW_OK;
}

static sw_status check_unique(const struct manifest *manifest, struct arena *arena,
                              const struct path *tensors, sw_error *error) {
    size_t index;
    sw_bytes *names = arena_get_array(arena, manifest->tensor_count, sizeof *names);
    if (!names) return decode_out_of_memory(arena, error);
    for (uint32_t i = 0; i < manifest->tensor_count; i++) names[i] = sw_text_of(manifest->tensors[i].name);
    if (!repeated_find(names, sizeof *names, manifest->tensor_count, arena->allocator, &index))
        return error_no_memory(error);
    if (index == manifest->tensor_count) return SW_OK;
    struct path item = path_index(tensors, index), name = path_field(&item, "name");
    return malformed(error, &name, "is there twice: \"%s\"; names of an item's tensors are unique",
                     manifest->tensors[index].name);
}

static sw_status check_names(const struct manifest *manifest, struct arena *arena, sw_error *error) {
    struct path address = path_field(NULL, "address"), tensors = path_field(NULL, "tensors");
    sw_status status = check_address(&manifest->address, CHECK_CHANNEL | CHECK_STEP, &address, error);
    for (uint32_t i = 0; status == SW_OK && i < manifest->tensor_count; i++) {
        struct path item = path_index(&tensors, i);
        status = check_name_and_type(&manifest->tensors[i], &item, error);
    }
    if (status == SW_OK) status = check_unique(manifest, arena, &tensors, error);
    return status;
}

static sw_status check_shape(const struct tensor_info *tensor, const struct path *path, sw_error *error) {
    struct path shape = path_field(path, "shape"), length = path_field(path, "byte_length");
    uint64_t bytes;
    if (tensor->rank > SW_TENSOR_RANK_MAX)
        return malformed(error, &shape, "has %" PRIu32 " dimensions; a tensor has at most %d", tensor->rank,
                         SW_TENSOR_RANK_MAX);
    if (!sw_tensor_bytes(tensor->dtype, tensor->rank, tensor->shape, &bytes))
        return malformed(error, &shape, "has a dimension below 0, or takes more than 2^63-1 bytes");
    if (bytes != tensor->byte_length)
        return malformed(error, &length, "is %" PRIu64 " where shape and type of \"%s\" say %" PRIu64,
                         tensor->byte_length, tensor->name, bytes);
    return SW_OK;
}

sw_status manifest_check_sizes(const struct manifest *manifest, sw_error *error) {
    struct path tensors = path_field(NULL, "tensors"), block = path_field(NULL, "block_bytes");
    if (manifest->block_bytes < LIMIT_BLOCK_BYTES_MIN || manifest->block_bytes > LIMIT_BLOCK_BYTES_MAX)
        return malformed(error, &block, "is %" PRIu32 "; a block has %u to %u bytes", manifest->block_bytes,
                         LIMIT_BLOCK_BYTES_MIN, LIMIT_BLOCK_BYTES_MAX);
    for (uint32_t i = 0; i < manifest->tensor_count; i++) {
        struct path item = path_index(&tensors, i);
        sw_status status = check_shape(&manifest->tensors[i], &item, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

static sw_status check_count(size_t count, sw_error *error) {
    if (count <= LIMIT_ITEM_TENSORS) return SW_OK;
    return error_set(error, SW_REASON_TOO_LARGE,
                     "the manifest has %zu tensors and an item at most %u; publish them as several items",
                     count, LIMIT_ITEM_TENSORS);
}

sw_status manifest_check(const struct manifest *manifest, sw_error *error) {
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    sw_status status = check_count(manifest->tensor_count, error);
    if (status == SW_OK) status = check_names(manifest, &arena, error);
    if (status == SW_OK) status = manifest_check_sizes(manifest, error);
    arena_destroy(&arena);
    return status;
}

/* ---- encoding ---- */

static void tensor_to_pb(Stagewire__V1__TensorInfo *to, const struct tensor_info *from) {
    stagewire__v1__tensor_info__init(to);
    to->name = pb_text(from->name);
    to->dtype = (Stagewire__V1__DataType)from->dtype;
    to->n_shape = from->rank;
    to->shape = (int64_t *)from->shape;
    to->byte_length = from->byte_length;
    to->digest = from->digest;
}

static bool fill_manifest(struct arena *arena, const struct manifest *from,
                          Stagewire__V1__TensorManifest *to) {
    Stagewire__V1__TensorInfo *tensors;
    if (!pb_array(arena, from->tensor_count, sizeof *tensors, (void **)&tensors, (void ***)&to->tensors))
        return false;
    for (uint32_t i = 0; i < from->tensor_count; i++) tensor_to_pb(&tensors[i], &from->tensors[i]);
    to->n_tensors = from->tensor_count;
    to->block_bytes = from->block_bytes;
    to->published_unix_ns = from->published_unix_ns;
    to->pin = from->pin;
    to->n_via = from->via_count;
    to->via = (char **)from->via;
    return true;
}

sw_status manifest_encode(const struct manifest *manifest, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__StreamTensorsResponse message = STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__INIT;
    Stagewire__V1__TensorManifest packed = STAGEWIRE__V1__TENSOR_MANIFEST__INIT;
    Stagewire__V1__Address address;
    struct arena arena;
    message.part_case = STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__PART_MANIFEST;
    message.manifest = &packed;
    pb_from_address(packed.address = &address, &manifest->address);
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = fill_manifest(&arena, manifest, &packed);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

/* ---- decoding ---- */

static bool read_manifest(struct arena *arena, const Stagewire__V1__TensorManifest *from,
                          struct manifest *to) {
    struct tensor_info *tensors = arena_get_array(arena, from->n_tensors, sizeof *tensors);
    if (!tensors) return false;
    for (size_t i = 0; i < from->n_tensors; i++) {
        const Stagewire__V1__TensorInfo *info = from->tensors[i];
        tensors[i] = (struct tensor_info){info->name,  (sw_dtype)info->dtype, (uint32_t)info->n_shape,
                                          info->shape, info->byte_length,     info->digest};
    }
    *to = (struct manifest){
        .address = pb_to_address(from->address),
        .tensor_count = (uint32_t)from->n_tensors,
        .tensors = tensors,
        .block_bytes = from->block_bytes ? from->block_bytes : LIMIT_BLOCK_BYTES,
        .published_unix_ns = from->published_unix_ns,
        .pin = from->pin,
        .via = (const char *const *)from->via,
        .via_count = (uint32_t)from->n_via,
    };
    return true;
}

sw_status manifest_decode_names(const void *data, size_t size, struct arena *arena, struct manifest *ret,
                                sw_error *error) {
    ProtobufCMessage *unpacked;
    struct manifest manifest;
    sw_status status = pb_unpack(&stagewire__v1__stream_tensors_response__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__StreamTensorsResponse *message = (void *)unpacked;
    if (message->part_case != STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__PART_MANIFEST)
        return malformed_at(error, "part",
                            "is no manifest; a stream of tensors begins with one, and has one");
    status = check_count(message->manifest->n_tensors, error);
    if (status != SW_OK) return status;
    if (!read_manifest(arena, message->manifest, &manifest)) return decode_out_of_memory(arena, error);
    status = check_names(&manifest, arena, error);
    if (status == SW_OK) *ret = manifest;
    return status;
}

sw_status manifest_decode(const void *data, size_t size, struct arena *arena, struct manifest *ret,
                          sw_error *error) {
    struct manifest manifest;
    sw_status status = manifest_decode_names(data, size, arena, &manifest, error);
    if (status == SW_OK) status = manifest_check_sizes(&manifest, error);
    if (status == SW_OK) *ret = manifest;
    return status;
}
