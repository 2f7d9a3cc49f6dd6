#include "service/rpc/tensor_intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/device/device.h"
#include "proto/device/sealed.h"
#include "proto/device/shared.h"

/* ---- opening ---- */

static sw_status no_memory(sw_error *error, uint64_t size) {
    error_set(error, SW_REASON_LIMIT,
              "no memory for a tensor publish of %" PRIu64 " bytes; give the endpoint more, or a "
              "smaller --store-bytes",
              size);
    error_add(error, "limit", "memory");
    return SW_RESOURCE_EXHAUSTED;
}

/* Memory is taken when the first block comes: it may come with its own. Empty tensors have no block. */
static sw_status make_place(struct tensor_intake *intake, uint32_t index) {
    struct tensor *tensor = &intake->set->tensors[index];
    void *bytes;
    sw_status status = device_host.allocate(tensor->info.byte_length, &tensor->bytes, &bytes, NULL);
    if (status == SW_OK) intake->places[index].bytes = bytes;
    return status;
}

static sw_status make_empty_places(struct tensor_intake *intake) {
    for (uint32_t i = 0; i < intake->set->count; i++) {
        if (intake->set->tensors[i].info.byte_length > 0) continue;
        sw_status status = make_place(intake, i);
        if (status != SW_OK) return status;
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
    if (keep && make_empty_places(intake) != SW_OK) goto fail;
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

static void mark(struct tensor_intake *intake, uint32_t tensor, uint64_t block, uint64_t hash) {
    uint64_t bit = intake->first_bits[tensor] + block;
    intake->set->tensors[tensor].block_hashes[block] = hash;
    intake->arrived[bit / 8] |= (uint8_t)(1u << bit % 8);
    intake->missing--;
}

/* Where a block's bytes are to be copied to. */
static sw_status place_of(struct tensor_intake *intake, uint32_t tensor, uint64_t block, uint8_t **ret,
                          sw_error *error) {
    *ret = intake->scratch;
    if (*ret) return SW_OK;
    struct intake_place *place = &intake->places[tensor];
    if (place->is_shared) {
        return WRONG(error, MALFORMED, "part",
                     "tensor \"%s\" began in memory that was handed over, and now comes otherwise; send it "
                     "one way",
                     intake->set->tensors[tensor].info.name);
    }
    if (!place->bytes && make_place(intake, tensor) != SW_OK)
        return no_memory(error, intake->set->tensors[tensor].info.byte_length);
    *ret = place->bytes + block * intake->set->block_bytes;
    return SW_OK;
}

static sw_status take_chunk(struct tensor_intake *intake, const struct chunk_piece *pieces, size_t count,
                            const struct chunk_view *view, sw_error *error) {
    const struct chunk_header *header = &view->header;
    uint8_t *place;
    sw_status status = check_header(intake, header, error);
    if (status == SW_OK) status = place_of(intake, header->tensor, header->block, &place, error);
    if (status != SW_OK) return status;
    const struct tensor_info *info = &intake->set->tensors[header->tensor].info;
    uint64_t hash;
    if (!chunk_hash_payload(pieces, count, view, &hash)) return no_memory(error, header->size);
    if (header->xxh3 != 0 && header->xxh3 != hash) {
        return WRONG(error, CHECKSUM, "chunk.xxh3",
                     "block %" PRIu64
                     " of tensor \"%s\" arrived with other bytes than were hashed; publish it again",
                     header->block, info->name);
    }
    if (!intake->scratch) chunk_copy_payload(pieces, count, view, place, info->byte_length);
    mark(intake, header->tensor, header->block, hash);
    return SW_OK;
}

/* ---- memory that was handed over ---- */

/* More than the tensor needs, within which its memory may begin and end. */
#define SHARED_SLACK 4096u

/* As chunks would be: the header of each block, or of the one that is wrong. */
static struct chunk_header header_of(const struct tensor_intake *intake, const struct shared_run *run,
                                     uint64_t taken) {
    uint64_t left = run->byte_length - taken;
    return (struct chunk_header){
        .tensor = run->tensor,
        .block = run->first_block + taken / intake->set->block_bytes,
        .size = left < intake->set->block_bytes ? left : intake->set->block_bytes,
    };
}

static sw_status check_run(const struct tensor_intake *intake, const struct shared_run *run,
                           sw_error *error) {
    if (run->byte_length == 0 || run->byte_length > LIMIT_SHARED_RUN) {
        return WRONG(error, MALFORMED, "shared.byte_length", "is %" PRIu64 "; a run has 1 to %u bytes",
                     run->byte_length, LIMIT_SHARED_RUN);
    }
    for (uint64_t taken = 0; taken < run->byte_length; taken += intake->set->block_bytes) {
        struct chunk_header header = header_of(intake, run, taken);
        sw_status status = check_header(intake, &header, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

static sw_status check_memory(int fd, const struct shared_run *run, uint64_t *ret_size, sw_error *error) {
    if (fd < 0) {
        error_set(error, SW_REASON_LIMIT,
                  "no memory waits under this token: more was handed over than may wait, or none; send the "
                  "tensor in chunks");
        error_add(error, "limit", "hand-over");
        return SW_RESOURCE_EXHAUSTED;
    }
    if (!sealed_check(fd, ret_size)) {
        return WRONG(error, MALFORMED, "shared.token",
                     "what was handed over is no memory that nobody can change: hand over a memfd, sealed "
                     "against writing, shrinking and growing");
    }
    if (run->offset > *ret_size || run->byte_length > *ret_size - run->offset) {
        return WRONG(error, MALFORMED, "shared.offset",
                     "bytes %" PRIu64 " to %" PRIu64 " of a memory that has %" PRIu64, run->offset,
                     run->offset + run->byte_length, *ret_size);
    }
    return SW_OK;
}

/* Whether the whole tensor lies in this memory, and little else; *ret_start says where it begins. */
static bool is_tensors_own(const struct tensor_intake *intake, const struct shared_run *run, uint64_t size,
                           uint64_t *ret_start) {
    uint64_t before = run->first_block * intake->set->block_bytes;
    uint64_t length = intake->set->tensors[run->tensor].info.byte_length;
    if (run->offset < before) return false;
    *ret_start = run->offset - before;
    return *ret_start + length <= size && size - length <= SHARED_SLACK;
}

/* False: its blocks are to be copied. */
static bool takes_over(struct tensor_intake *intake, const struct shared_run *run, int fd, uint64_t size) {
    struct intake_place *place = &intake->places[run->tensor];
    struct tensor *tensor = &intake->set->tensors[run->tensor];
    uint64_t start;
    if (intake->scratch || !is_tensors_own(intake, run, size, &start)) return false;
    if (place->is_shared) return place->token == run->token && place->start == start;
    if (place->bytes || !shared_open(fd, start, tensor->info.byte_length, false, &tensor->bytes))
        return false;
    *place = (struct intake_place){.bytes = (uint8_t *)sw_buffer_data(tensor->bytes),
                                   .is_shared = true,
                                   .token = run->token,
                                   .start = start};
    return true;
}

static void hash_in_place(struct tensor_intake *intake, const struct shared_run *run) {
    const uint8_t *bytes = intake->places[run->tensor].bytes;
    for (uint64_t taken = 0; taken < run->byte_length; taken += intake->set->block_bytes) {
        struct chunk_header header = header_of(intake, run, taken);
        mark(intake, header.tensor, header.block,
             block_hash(bytes + header.block * intake->set->block_bytes, header.size));
    }
}

static sw_status copy_run(struct tensor_intake *intake, const struct shared_run *run, int fd,
                          sw_error *error) {
    for (uint64_t taken = 0; taken < run->byte_length; taken += intake->set->block_bytes) {
        struct chunk_header header = header_of(intake, run, taken);
        uint8_t *place;
        sw_status status = place_of(intake, header.tensor, header.block, &place, error);
        if (status != SW_OK) return status;
        if (!sealed_read(fd, run->offset + taken, place, header.size))
            return error_set_code(error, SW_INTERNAL, SW_REASON_NONE,
                                  "memory that was handed over can't be read");
        mark(intake, header.tensor, header.block, block_hash(place, header.size));
    }
    return SW_OK;
}

static sw_status take_run(struct tensor_intake *intake, const struct shared_run *run, int fd,
                          sw_error *error) {
    uint64_t size;
    sw_status status = check_run(intake, run, error);
    if (status == SW_OK) status = check_memory(fd, run, &size, error);
    if (status != SW_OK) return status;
    intake->shared_tensors += run->first_block == 0;
    intake->shared_bytes += run->byte_length;
    if (!takes_over(intake, run, fd, size)) return copy_run(intake, run, fd, error);
    hash_in_place(intake, run);
    return SW_OK;
}

sw_status tensor_intake_take(struct tensor_intake *intake, const struct chunk_piece *pieces, size_t count,
                             intake_find *find, void *context, sw_error *error) {
    enum chunk_part part;
    struct chunk_view view;
    sw_status status = chunk_parse(pieces, count, &part, &view, error);
    if (status != SW_OK) return status;
    if (part == CHUNK_CHUNK) return take_chunk(intake, pieces, count, &view, error);
    if (part == CHUNK_SHARED) return take_run(intake, &view.shared, find(context, view.shared.token), error);
    return WRONG(error, MALFORMED, "part",
                 "after the manifest come chunks or shared memory; a second manifest is not taken");
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
