#include "client/core/reassembly_parts.h"

#include <inttypes.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"

/* Half a message; a range takes its name, two numbers and a few bytes around them. */
#define RANGES_BYTES_MAX (SW_MESSAGE_MAX / 2)
#define RANGE_BYTES_MORE 32u

typedef sw_status allocate_function(size_t, sw_buffer **, void **, sw_error *);

static sw_status give_memory(struct part *part, const sw_tensor_request *request,
                             const struct tensor_info *info, allocate_function *allocate, sw_error *error) {
    if (request && request->into) {
        part->data = request->into;
        return SW_OK;
    }
    void *data;
    sw_status status = allocate(info->byte_length, &part->buffer, &data, error);
    if (status != SW_OK) {
        error_prefix(error, "tensor \"%s\" of %" PRIu64 " bytes: ", info->name, info->byte_length);
        return status;
    }
    part->data = data;
    return SW_OK;
}

static sw_status add(struct parts *parts, uint32_t index, const sw_tensor_request *request,
                     const struct manifest *manifest, allocate_function *allocate, sw_error *error) {
    const struct tensor_info *info = &manifest->tensors[index];
    struct part *part = &parts->parts[parts->count++];
    part->index = index;
    part->byte_length = info->byte_length;
    parts->by_index[index] = parts->count;
    sw_status status = give_memory(part, request, info, allocate, error);
    if (status != SW_OK) return status;
    uint64_t blocks = tensor_blocks(info->byte_length, manifest->block_bytes);
    if (!blocks_init(&part->blocks, blocks, parts->allocator)) return error_no_memory(error);
    parts->missing += blocks;
    parts->bytes += info->byte_length;
    return SW_OK;
}

static sw_status add_wished(struct parts *parts, const struct wishes *wishes, const struct manifest *manifest,
                            allocate_function *allocate, sw_error *error) {
    struct names by_name;
    if (!names_init(&by_name, manifest->tensor_count, parts->allocator)) return error_no_memory(error);
    for (uint32_t i = 0; i < manifest->tensor_count; i++) names_add(&by_name, manifest->tensors[i].name, i);
    names_sort(&by_name);
    sw_status status = SW_OK;
    for (uint32_t i = 0; status == SW_OK && i < wishes->count; i++) {
        const sw_tensor_request *request = &wishes->requests[i];
        status =
            add(parts, (uint32_t)names_find(&by_name, request->name), request, manifest, allocate, error);
    }
    names_destroy(&by_name);
    return status;
}

static sw_status add_all(struct parts *parts, const struct manifest *manifest, allocate_function *allocate,
                         sw_error *error) {
    sw_status status = SW_OK;
    for (uint32_t i = 0; status == SW_OK && i < manifest->tensor_count; i++)
        status = add(parts, i, NULL, manifest, allocate, error);
    return status;
}

sw_status parts_init(struct parts *parts, const struct wishes *wishes, const struct manifest *manifest,
                     allocate_function *allocate, const struct allocator *allocator, sw_error *error) {
    memset(parts, 0, sizeof *parts);
    parts->allocator = allocator;
    parts->block_bytes = manifest->block_bytes;
    parts->index_count = manifest->tensor_count;
    uint32_t count = wishes->count ? wishes->count : manifest->tensor_count;
    parts->parts = allocator_get_zeroed(allocator, count * sizeof *parts->parts);
    parts->by_index = allocator_get_zeroed(allocator, manifest->tensor_count * sizeof *parts->by_index);
    sw_status status = SW_OK;
    if (!parts->parts || !parts->by_index)
        status = error_no_memory(error);
    else if (wishes->count)
        status = add_wished(parts, wishes, manifest, allocate, error);
    else
        status = add_all(parts, manifest, allocate, error);
    if (status != SW_OK) parts_destroy(parts);
    return status;
}

void parts_destroy(struct parts *parts) {
    for (uint32_t i = 0; i < parts->count; i++) {
        sw_buffer_unref(parts->parts[i].buffer);
        blocks_destroy(&parts->parts[i].blocks);
    }
    if (parts->parts) allocator_put(parts->allocator, parts->parts);
    if (parts->by_index) allocator_put(parts->allocator, parts->by_index);
    memset(parts, 0, sizeof *parts);
}

struct part *parts_find(const struct parts *parts, uint32_t index) {
    if (index >= parts->index_count || parts->by_index[index] == 0) return NULL;
    return &parts->parts[parts->by_index[index] - 1];
}

/* ---- ranges ---- */

struct range_list {
    struct tensor_range *ranges; /* NULL while they are only counted */
    uint32_t count;
    size_t bytes;
};

static bool put_range(struct range_list *list, const char *name, uint64_t first, uint64_t count) {
    size_t bytes = strlen(name) + RANGE_BYTES_MORE;
    if (list->bytes + bytes > RANGES_BYTES_MAX) return false;
    list->bytes += bytes;
    if (list->ranges) list->ranges[list->count] = (struct tensor_range){name, first, count};
    list->count++;
    return true;
}

static void put_missing(struct range_list *list, const struct parts *parts, const struct manifest *manifest) {
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->parts[i];
        uint64_t cursor = 0, first, count;
        while (blocks_next_missing(&part->blocks, &cursor, &first, &count))
            if (!put_range(list, manifest->tensors[part->index].name, first, count)) return;
    }
}

static void put_wished(struct range_list *list, const struct wishes *wishes) {
    for (uint32_t i = 0; i < wishes->count; i++)
        if (!put_range(list, wishes->requests[i].name, 0, 0)) return;
}

static sw_status hand_out(struct range_list *counted, struct arena *arena, sw_error *error) {
    counted->ranges = arena_get(arena, counted->count * sizeof *counted->ranges);
    counted->count = 0;
    counted->bytes = 0;
    return counted->ranges ? SW_OK : error_no_memory(error);
}

sw_status parts_missing(const struct parts *parts, const struct manifest *manifest, struct arena *arena,
                        const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error) {
    struct range_list list = {0};
    put_missing(&list, parts, manifest);
    sw_status status = hand_out(&list, arena, error);
    if (status != SW_OK) return status;
    put_missing(&list, parts, manifest);
    *ret_ranges = list.ranges;
    *ret_count = list.count;
    return SW_OK;
}

sw_status parts_wished(const struct wishes *wishes, struct arena *arena,
                       const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error) {
    struct range_list list = {0};
    put_wished(&list, wishes);
    sw_status status = hand_out(&list, arena, error);
    if (status != SW_OK) return status;
    put_wished(&list, wishes);
    *ret_ranges = list.ranges;
    *ret_count = list.count;
    return SW_OK;
}
