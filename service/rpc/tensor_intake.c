#include "service/rpc/tensor_intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/device/device.h"

/* ---- opening ---- */

static sw_status no_memory(sw_error *error, uint64_t size) {
    error_set(error, SW_REASON_LIMIT,
              "no memory for a tensor publish of %" PRIu64 " bytes; give the endpoint more, or a "
              "smaller --store-bytes",
              size);
    error_add(error, "limit", "memory");
    return SW_RESOURCE_EXHAUSTED;
}

static sw_status make_places(struct tensor_intake *intake, sw_error *error) {
    for (uint32_t i = 0; i < intake->set->count; i++) {
        struct tensor *tensor = &intake->set->tensors[i];
        void *place;
        sw_status status = device_host.allocate(tensor->info.byte_length, &tensor->bytes, &place, error);
        if (status != SW_OK) return status;
        intake->places[i] = place;
    }
    return SW_OK;
}

static void number_blocks(struct tensor_intake *intake) {
    for (uint32_t i = 0; i < intake->set->count; i++) {
        intake->first_bits[i] = intake->missing;
        intake->missing += tensor_blocks(intake->set->tensors[i].info.byte_length, intake->set->block_bytes);
    }
}

sw_status tensor_intake_open(struct tensor_intake *intake, const struct manifest *manifest, bool keep,
                             sw_error *error) {
    *intake = (struct tensor_intake){.manifest = manifest};
    intake->set = tensor_set_create(manifest->tensors, manifest->tensor_count, manifest->block_bytes,
                                    &allocator_system);
    if (!intake->set) return no_memory(error, manifest_bytes(manifest));
    size_t count = manifest->tensor_count + 1;
    intake->places = calloc(count, sizeof *intake->places);
    intake->first_bits = calloc(count, sizeof *intake->first_bits);
    if (!intake->places || !intake->first_bits) goto fail;
    number_blocks(intake);
    intake->arrived = calloc(1, intake->missing / 8 + 1);
    if (!keep) intake->scratch = malloc(manifest->block_bytes);
    if (!intake->arrived || (!keep && !intake->scratch)) goto fail;
    if (keep && make_places(intake, NULL) != SW_OK) goto fail;
    return SW_OK;

fail:;
    uint64_t size = intake->set->byte_length;
    tensor_intake_close(intake);
    return no_memory(error, size);
}

void tensor_intake_close(struct tensor_intake *intake) {
    tensor_set_unref(intake->set);
    free(intake->places);
    free(intake->first_bits);
    free(intake->arrived);
    free(intake->scratch);
    *intake = (struct tensor_intake){0};
}

/* ---- blocks ---- */

#define WRONG(error, reason, where, ...)                                                                     \
    (error_set(error, SW_REASON_##reason, __VA_ARGS__), error_add(error, "path", where),                     \
     sw_reason_status(SW_REASON_##reason))

static sw_status check_header(const struct tensor_intake *intake, const struct chunk_header *header,
                              sw_error *error) {
    const struct tensor_set *set = intake->set;
    if (header->tensor >= set->count) {
        return WRONG(error, MALFORMED, "chunk.tensor",
                     "a block of tensor %u, and the manifest has %u; they are counted from 0", header->tensor,
                     set->count);
    }
    const struct tensor_info *info = &set->tensors[header->tensor].info;
    uint64_t blocks = tensor_blocks(info->byte_length, set->block_bytes);
    if (header->block >= blocks) {
        return WRONG(error, MALFORMED, "chunk.block",
                     "block %" PRIu64 " of tensor \"%s\", whose %" PRIu64 " bytes are %" PRIu64
                     " blocks of %u; they are counted from 0",
                     header->block, info->name, info->byte_length, blocks, set->block_bytes);
    }
    uint32_t size = tensor_block_size(info->byte_length, set->block_bytes, header->block);
    if (header->size != size) {
        return WRONG(error, MALFORMED, "chunk.data",
                     "block %" PRIu64 " of tensor \"%s\" has %" PRIu64 " bytes, not %u", header->block,
                     info->name, header->size, size);
    }
    uint64_t bit = intake->first_bits[header->tensor] + header->block;
    if (intake->arrived[bit / 8] >> bit % 8 & 1) {
        return WRONG(error, MALFORMED, "chunk.block",
                     "block %" PRIu64 " of tensor \"%s\" came twice; send each once", header->block,
                     info->name);
    }
    return SW_OK;
}

static void mark(struct tensor_intake *intake, const struct chunk_header *header) {
    uint64_t bit = intake->first_bits[header->tensor] + header->block;
    intake->arrived[bit / 8] |= (uint8_t)(1u << bit % 8);
    intake->missing--;
}

sw_status tensor_intake_take(struct tensor_intake *intake, const struct chunk_piece *pieces, size_t count,
                             sw_error *error) {
    enum chunk_part part;
    struct chunk_view view;
    sw_status status = chunk_parse(pieces, count, &part, &view, error);
    if (status != SW_OK) return status;
    if (part != CHUNK_CHUNK) {
        return WRONG(error, MALFORMED, "part",
                     "after the manifest come chunks; a second manifest and shared memory are "
                     "not taken here");
    }
    const struct chunk_header *header = &view.header;
    status = check_header(intake, header, error);
    if (status != SW_OK) return status;
    struct tensor *tensor = &intake->set->tensors[header->tensor];
    uint8_t *place = intake->scratch
                         ? intake->scratch
                         : intake->places[header->tensor] + header->block * intake->set->block_bytes;
    chunk_copy_payload(pieces, count, &view, place);
    uint64_t hash = block_hash(place, header->size);
    if (header->xxh3 != 0 && header->xxh3 != hash) {
        return WRONG(error, CHECKSUM, "chunk.xxh3",
                     "block %" PRIu64
                     " of tensor \"%s\" arrived with other bytes than were hashed; publish it again",
                     header->block, tensor->info.name);
    }
    tensor->block_hashes[header->block] = hash;
    mark(intake, header);
    return SW_OK;
}

/* ---- finishing ---- */

static sw_status say_missing(const struct tensor_intake *intake, sw_error *error) {
    char path[48];
    uint64_t bit = 0;
    while (intake->arrived[bit / 8] >> bit % 8 & 1) bit++;
    uint32_t tensor = intake->set->count - 1;
    while (intake->first_bits[tensor] > bit) tensor--;
    snprintf(path, sizeof path, "manifest.tensors[%u]", tensor);
    return WRONG(error, MALFORMED, path,
                 "the stream ended with %" PRIu64 " blocks missing; the first is block %" PRIu64
                 " of tensor \"%s\"",
                 intake->missing, bit - intake->first_bits[tensor], intake->set->tensors[tensor].info.name);
}

static sw_status check_digest(const struct tensor_intake *intake, uint32_t index, sw_error *error) {
    struct tensor *tensor = &intake->set->tensors[index];
    uint64_t told = intake->manifest->tensors[index].digest;
    uint64_t blocks = tensor_blocks(tensor->info.byte_length, intake->set->block_bytes);
    char path[64];
    tensor->info.digest = tensor_digest(tensor->block_hashes, blocks);
    if (told == 0 || told == tensor->info.digest) return SW_OK;
    snprintf(path, sizeof path, "manifest.tensors[%u].digest", index);
    return WRONG(error, CHECKSUM, path,
                 "tensor \"%s\" arrived with other bytes than its digest says; publish it again",
                 tensor->info.name);
}

sw_status tensor_intake_finish(struct tensor_intake *intake, struct digest *ret_digest, sw_error *error) {
    if (intake->missing > 0) return say_missing(intake, error);
    for (uint32_t i = 0; i < intake->set->count; i++) {
        sw_status status = check_digest(intake, i, error);
        if (status != SW_OK) return status;
    }
    *ret_digest = tensor_set_digest(intake->set);
    return SW_OK;
}
