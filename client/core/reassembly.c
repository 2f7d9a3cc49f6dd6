#include "client/core/reassembly.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/core/answer.h"
#include "client/core/blocks.h"
#include "client/core/reassembly_parts.h"
#include "client/core/results.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"

struct reassembly {
    struct reassembly_options options;
    struct arena arena; /* of the manifest */
    struct manifest manifest;
    bool has_manifest, expects_manifest;
    struct parts parts;
};

struct reassembly *reassembly_create(const struct reassembly_options *options) {
    struct reassembly *assembly = allocator_get_zeroed(options->allocator, sizeof *assembly);
    if (!assembly) return NULL;
    assembly->options = *options;
    assembly->expects_manifest = true;
    arena_init(&assembly->arena, options->allocator, LIMIT_DECODE_BYTES);
    return assembly;
}

static void forget(struct reassembly *assembly) {
    parts_destroy(&assembly->parts);
    arena_destroy(&assembly->arena);
    arena_init(&assembly->arena, assembly->options.allocator, LIMIT_DECODE_BYTES);
    assembly->has_manifest = false;
}

void reassembly_start_over(struct reassembly *assembly) {
    forget(assembly);
}

void reassembly_destroy(struct reassembly *assembly) {
    if (!assembly) return;
    parts_destroy(&assembly->parts);
    arena_destroy(&assembly->arena);
    allocator_put(assembly->options.allocator, assembly);
}

void reassembly_stream_begins(struct reassembly *assembly) {
    assembly->expects_manifest = true;
}

const struct manifest *reassembly_manifest(const struct reassembly *assembly) {
    return assembly->has_manifest ? &assembly->manifest : NULL;
}

bool reassembly_whole(const struct reassembly *assembly) {
    return assembly->has_manifest && assembly->parts.missing == 0;
}

uint64_t reassembly_blocks_arrived(const struct reassembly *assembly) {
    return assembly->parts.arrived;
}

uint64_t reassembly_bytes_arrived(const struct reassembly *assembly) {
    return assembly->parts.bytes_arrived;
}

uint64_t reassembly_bytes_in_all(const struct reassembly *assembly) {
    return assembly->parts.bytes;
}

static sw_status broken(const struct reassembly *assembly, const char *what, const sw_error *why,
                        sw_error *error) {
    const sw_address *about = assembly->has_manifest ? &assembly->manifest.address : assembly->options.asked;
    return answer_broken(error, about, SW_TENSORS, what, why);
}

/* ---- the manifest ---- */

static sw_status decode_whole(const struct reassembly *assembly, const void *data, size_t size,
                              struct arena *arena, struct manifest *ret, sw_error *error) {
    sw_error why = {0};
    sw_status status = manifest_decode(data, size, arena, ret, &why);
    if (status == SW_OK) return SW_OK;
    if (status == SW_INVALID_ARGUMENT)
        return broken(assembly, "the stream does not begin with a readable manifest", &why, error);
    if (error) *error = why;
    return status;
}

static sw_status decode(const struct reassembly *assembly, const struct chunk_piece *pieces, size_t count,
                        struct arena *arena, struct manifest *ret, sw_error *error) {
    if (count == 1) return decode_whole(assembly, pieces[0].data, pieces[0].size, arena, ret, error);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) size += pieces[i].size;
    uint8_t *joined = allocator_get(assembly->options.allocator, size);
    if (!joined) return error_no_memory(error);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(joined + used, pieces[i].data, pieces[i].size);
        used += pieces[i].size;
    }
    sw_status status = decode_whole(assembly, joined, size, arena, ret, error);
    allocator_put(assembly->options.allocator, joined);
    return status;
}

static bool same_info(const struct tensor_info *a, const struct tensor_info *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->byte_length == b->byte_length &&
           a->digest == b->digest && strcmp(a->name, b->name) == 0 &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* With digests that say nothing, only the pin can tell that it is the same item. */
static bool same_content(const struct manifest *a, const struct manifest *b) {
    if (a->tensor_count != b->tensor_count || a->block_bytes != b->block_bytes) return false;
    bool is_known = a->pin != 0 && a->pin == b->pin;
    for (uint32_t i = 0; i < a->tensor_count; i++) {
        if (!same_info(&a->tensors[i], &b->tensors[i])) return false;
        if (a->tensors[i].digest == 0 && !is_known) return false;
    }
    return true;
}

/* Takes the arena over if it returns SW_OK. */
static sw_status begin(struct reassembly *assembly, const struct manifest *manifest, struct arena *arena,
                       sw_error *error) {
    sw_status status = wishes_fit(assembly->options.wishes, manifest, error);
    if (status == SW_OK && !assembly->options.manifest_only)
        status = parts_init(&assembly->parts, assembly->options.wishes, manifest, assembly->options.allocate,
                            assembly->options.allocator, error);
    if (status != SW_OK) return status;
    assembly->manifest = *manifest;
    assembly->arena = *arena;
    assembly->has_manifest = true;
    arena_init(arena, assembly->options.allocator, 0);
    return SW_OK;
}

static sw_status compare(struct reassembly *assembly, const struct manifest *manifest, struct arena *arena,
                         enum reassembly_news *ret_news, sw_error *error) {
    if (!address_same_item(&assembly->manifest.address, &manifest->address))
        return broken(assembly, "the stream that should go on is of another item", NULL, error);
    if (same_content(&assembly->manifest, manifest)) {
        assembly->manifest.pin = manifest->pin;
        *ret_news = REASSEMBLY_MANIFEST;
        return SW_OK;
    }
    forget(assembly);
    sw_status status = begin(assembly, manifest, arena, error);
    if (status == SW_OK) *ret_news = REASSEMBLY_STARTED_OVER;
    return status;
}

static sw_status read_manifest(const struct reassembly *assembly, const struct chunk_piece *pieces,
                               size_t count, struct arena *arena, struct manifest *ret, sw_error *error) {
    arena_init(arena, assembly->options.allocator, LIMIT_DECODE_BYTES);
    sw_status status = decode(assembly, pieces, count, arena, ret, error);
    if (status == SW_OK && !answer_fits(assembly->options.asked, assembly->options.latest, &ret->address))
        status = broken(assembly, "the endpoint answers with another item", NULL, error);
    return status;
}

static sw_status take_manifest(struct reassembly *assembly, const struct chunk_piece *pieces, size_t count,
                               enum reassembly_news *ret_news, sw_error *error) {
    struct arena arena;
    struct manifest manifest;
    sw_status status = read_manifest(assembly, pieces, count, &arena, &manifest, error);
    if (status == SW_OK && assembly->has_manifest) {
        status = compare(assembly, &manifest, &arena, ret_news, error);
    } else if (status == SW_OK) {
        status = begin(assembly, &manifest, &arena, error);
        if (status == SW_OK) *ret_news = REASSEMBLY_MANIFEST;
    }
    arena_destroy(&arena);
    assembly->expects_manifest = false;
    return status;
}

static sw_status check_manifest_beside(const struct reassembly *assembly, const struct chunk_piece *pieces,
                                       size_t count, sw_error *error) {
    struct arena arena;
    struct manifest manifest;
    sw_status status = read_manifest(assembly, pieces, count, &arena, &manifest, error);
    if (status == SW_OK && !(address_same_item(&assembly->manifest.address, &manifest.address) &&
                             same_content(&assembly->manifest, &manifest)))
        status = broken(assembly, "a stream beside another one is of other content", NULL, error);
    arena_destroy(&arena);
    return status;
}

/* ---- blocks ---- */

static sw_status bad_block(const struct reassembly *assembly, const struct chunk_header *header,
                           const char *what, sw_error *error) {
    const char *name = header->tensor < assembly->manifest.tensor_count
                           ? assembly->manifest.tensors[header->tensor].name
                           : "?";
    char text[SW_TENSOR_NAME_MAX + 160];
    snprintf(text, sizeof text, "block %" PRIu64 " of tensor \"%s\" %s", header->block, name, what);
    return broken(assembly, text, NULL, error);
}

static const char *wrong_place(const struct parts *parts, const struct part *part,
                               const struct chunk_header *header) {
    if (!part) return "was not asked for";
    if (header->block >= part->blocks.count) return "lies outside the tensor";
    if (header->size != tensor_block_size(part->byte_length, parts->block_bytes, header->block))
        return "has the wrong size";
    return NULL;
}

static sw_status count_block(struct reassembly *assembly, struct part *part,
                             const struct chunk_header *header, uint64_t hash, sw_error *error) {
    struct parts *parts = &assembly->parts;
    switch (blocks_take(&part->blocks, header->block, hash)) {
    case BLOCK_NEW:
        parts->arrived++;
        parts->bytes_arrived += header->size;
        parts->missing--;
        return SW_OK;
    case BLOCK_SAME_AGAIN:
        return SW_OK;
    case BLOCK_CONTRADICTS:
        break;
    }
    return bad_block(assembly, header, "came twice with different bytes", error);
}

/* Where memory was handed over, what counts is what lies there. */
static bool hash_block(const struct part *part, const uint8_t *place, const struct chunk_piece *pieces,
                       size_t count, const struct chunk_view *view, uint64_t *ret_hash) {
    if (!part->is_shared) return chunk_hash_payload(pieces, count, view, ret_hash);
    *ret_hash = block_hash(place, view->header.size);
    return true;
}

static sw_status take_block(struct reassembly *assembly, const struct chunk_piece *pieces, size_t count,
                            const struct chunk_view *view, sw_error *error) {
    const struct chunk_header *header = &view->header;
    struct parts *parts = &assembly->parts;
    struct part *part = parts_find(parts, header->tensor);
    const char *wrong = wrong_place(parts, part, header);
    if (wrong) return bad_block(assembly, header, wrong, error);
    uint8_t *place = part->data + header->block * parts->block_bytes;
    uint64_t hash;
    if (!hash_block(part, place, pieces, count, view, &hash)) return error_no_memory(error);
    if (header->xxh3 != 0 && header->xxh3 != hash)
        return bad_block(assembly, header, "does not match its hash", error);
    if (!part->is_shared) chunk_copy_payload(pieces, count, view, place, part->byte_length);
    return count_block(assembly, part, header, hash, error);
}

/* ---- runs of blocks in memory that was handed over ---- */

/* The tensor's whole memory, if that is what was handed over; else blocks are copied to where they belong. */
static void map_whole(const struct reassembly *assembly, struct part *part, const struct shared_run *run) {
    const struct reassembly_memory *memory = &assembly->options.memory;
    uint64_t before = run->first_block * assembly->parts.block_bytes;
    sw_buffer *whole;
    if (part->is_shared || !part->buffer || part->blocks.arrived > 0 || run->offset < before) return;
    if (!memory->map(memory->context, run->token, run->offset - before, part->byte_length, &whole)) return;
    sw_buffer_unref(part->buffer);
    part->buffer = whole;
    part->data = (uint8_t *)sw_buffer_data(whole);
    part->is_shared = true;
}

static sw_status take_block_of_run(struct reassembly *assembly, struct part *part,
                                   const struct shared_run *run, const struct chunk_header *header,
                                   uint64_t taken, sw_error *error) {
    const struct reassembly_memory *memory = &assembly->options.memory;
    const char *wrong = wrong_place(&assembly->parts, part, header);
    if (wrong) return bad_block(assembly, header, wrong, error);
    uint8_t *place = part->data + header->block * assembly->parts.block_bytes;
    if (!part->is_shared &&
        !memory->read(memory->context, run->token, run->offset + taken, place, header->size))
        return bad_block(assembly, header, "is not in memory that was handed over", error);
    return count_block(assembly, part, header, block_hash(place, header->size), error);
}

static sw_status take_run(struct reassembly *assembly, const struct shared_run *run, sw_error *error) {
    uint32_t block_bytes = assembly->parts.block_bytes;
    struct chunk_header header = {.tensor = run->tensor, .block = run->first_block};
    struct part *part = parts_find(&assembly->parts, run->tensor);
    if (!assembly->options.memory.map || run->byte_length == 0 || run->byte_length > LIMIT_SHARED_RUN)
        return bad_block(assembly, &header, "comes in memory, and can't", error);
    if (part && run->first_block < part->blocks.count) map_whole(assembly, part, run);
    for (uint64_t taken = 0; taken < run->byte_length; taken += header.size, header.block++) {
        uint64_t left = run->byte_length - taken;
        header.size = left < block_bytes ? left : block_bytes;
        sw_status status = take_block_of_run(assembly, part, run, &header, taken, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

static sw_status take_message(struct reassembly *assembly, bool expects_manifest, bool is_beside,
                              const struct chunk_piece *pieces, size_t count, enum reassembly_news *ret_news,
                              sw_error *error) {
    enum chunk_part part;
    struct chunk_view view;
    sw_error why = {0};
    if (chunk_parse(pieces, count, &part, &view, &why) != SW_OK)
        return broken(assembly, "a message of the stream is not readable", &why, error);
    if (expects_manifest) {
        if (part != CHUNK_OTHER)
            return broken(assembly, "the stream does not begin with a manifest", NULL, error);
        return is_beside ? check_manifest_beside(assembly, pieces, count, error)
                         : take_manifest(assembly, pieces, count, ret_news, error);
    }
    if (part == CHUNK_OTHER) return broken(assembly, "a message of the stream is not a block", NULL, error);
    sw_status status = part == CHUNK_CHUNK ? take_block(assembly, pieces, count, &view, error)
                                           : take_run(assembly, &view.shared, error);
    if (status == SW_OK) *ret_news = REASSEMBLY_BLOCK;
    return status;
}

sw_status reassembly_take(struct reassembly *assembly, const struct chunk_piece *pieces, size_t count,
                          enum reassembly_news *ret_news, sw_error *error) {
    return take_message(assembly, assembly->expects_manifest, false, pieces, count, ret_news, error);
}

sw_status reassembly_take_beside(struct reassembly *assembly, bool is_first, const struct chunk_piece *pieces,
                                 size_t count, sw_error *error) {
    enum reassembly_news news;
    return take_message(assembly, is_first, true, pieces, count, &news, error);
}

const struct parts *reassembly_parts(const struct reassembly *assembly) {
    return &assembly->parts;
}

/* ---- going on, and the end ---- */

sw_status reassembly_ranges(const struct reassembly *assembly, struct arena *arena,
                            const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error) {
    if (assembly->has_manifest)
        return parts_missing(&assembly->parts, &assembly->manifest, arena, ret_ranges, ret_count, error);
    return parts_wished(assembly->options.wishes, arena, ret_ranges, ret_count, error);
}

static sw_status check_digests(const struct reassembly *assembly, sw_error *error) {
    for (uint32_t i = 0; i < assembly->parts.count; i++) {
        const struct part *part = &assembly->parts.parts[i];
        const struct tensor_info *info = &assembly->manifest.tensors[part->index];
        if (info->digest == 0 || info->digest == tensor_digest(part->blocks.hashes, part->blocks.count))
            continue;
        char text[SW_TENSOR_NAME_MAX + 80];
        snprintf(text, sizeof text, "tensor \"%s\" does not match its digest", info->name);
        return broken(assembly, text, NULL, error);
    }
    return SW_OK;
}

static void describe(sw_tensors *tensors, uint32_t place, const struct tensor_info *info, struct part *part) {
    tensors->names[place] = info->name;
    tensors->views[place] = (sw_tensor_view){.dtype = info->dtype,
                                             .rank = info->rank,
                                             .shape = info->shape,
                                             .data = part ? part->data : NULL,
                                             .size = info->byte_length};
    names_add(&tensors->by_name, info->name, place);
    if (!part) return;
    tensors->buffers[place] = part->buffer;
    part->buffer = NULL;
}

static void describe_all(const struct reassembly *assembly, sw_tensors *tensors) {
    const struct tensor_info *infos = assembly->manifest.tensors;
    for (uint32_t i = 0; i < tensors->count; i++) {
        struct part *part = assembly->options.manifest_only ? NULL : &assembly->parts.parts[i];
        describe(tensors, i, &infos[part ? part->index : i], part);
    }
    names_sort(&tensors->by_name);
}

sw_status reassembly_finish(struct reassembly *assembly, sw_tensors **ret_tensors, sw_error *error) {
    sw_status status = check_digests(assembly, error);
    if (status != SW_OK) return status;
    uint32_t count =
        assembly->options.manifest_only ? assembly->manifest.tensor_count : assembly->parts.count;
    sw_tensors *tensors = tensors_create(count, &assembly->arena);
    if (!tensors) return error_no_memory(error);
    tensors->address = assembly->manifest.address;
    tensors->published_unix_ns = assembly->manifest.published_unix_ns;
    describe_all(assembly, tensors);
    *ret_tensors = tensors;
    return SW_OK;
}
