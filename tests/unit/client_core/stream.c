#include "tests/unit/client_core/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"};

static void fill(struct item *item, uint32_t index, uint64_t size, unsigned seed) {
    struct tensor_info *info = &item->infos[index];
    uint64_t blocks = tensor_blocks(size, STREAM_BLOCK);
    int64_t *shape = malloc(sizeof *shape);
    *shape = (int64_t)size;
    item->bytes[index] = malloc(size + 1);
    item->hashes[index] = malloc((blocks + 1) * sizeof(uint64_t));
    for (uint64_t i = 0; i < size; i++)
        item->bytes[index][i] = (uint8_t)((i * 2654435761u >> 7) + index + seed);
    for (uint64_t i = 0; i < blocks; i++)
        item->hashes[index][i] =
            block_hash(item->bytes[index] + i * STREAM_BLOCK, tensor_block_size(size, STREAM_BLOCK, i));
    *info = (struct tensor_info){.name = names[index], .dtype = SW_U8, .rank = 1, .shape = shape};
    info->byte_length = size;
    info->digest = tensor_digest(item->hashes[index], blocks);
}

void item_create(struct item *item, const uint64_t *sizes, uint32_t count, unsigned seed) {
    memset(item, 0, sizeof *item);
    for (uint32_t i = 0; i < count; i++) fill(item, i, sizes[i], seed);
    item->manifest = (struct manifest){
        .address =
            {.run_id = "run", .generation = 1, .has_stage = true, .stage = 3, .channel = "train", .step = 7},
        .tensor_count = count,
        .tensors = item->infos,
        .block_bytes = STREAM_BLOCK,
        .published_unix_ns = 42,
        .pin = 99,
    };
}

void item_destroy(struct item *item) {
    for (uint32_t i = 0; i < item->manifest.tensor_count; i++) {
        free((void *)item->infos[i].shape);
        free(item->bytes[i]);
        free(item->hashes[i]);
    }
}

struct message item_manifest(const struct item *item) {
    sw_buffer *buffer;
    sw_error error;
    if (manifest_encode(&item->manifest, &buffer, &error) != SW_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    struct message message = {malloc(sw_buffer_size(buffer)), sw_buffer_size(buffer)};
    memcpy(message.data, sw_buffer_data(buffer), message.size);
    sw_buffer_unref(buffer);
    return message;
}

struct message block_message(const struct chunk_header *header, const void *payload) {
    struct message message = {malloc(CHUNK_HEADER_MAX + header->size), 0};
    message.size = chunk_encode_header(header, message.data);
    memcpy(message.data + message.size, payload, header->size);
    message.size += header->size;
    return message;
}

struct message item_block(const struct item *item, uint32_t tensor, uint64_t block) {
    struct chunk_header header = {
        .tensor = tensor,
        .block = block,
        .xxh3 = item->hashes[tensor][block],
        .size = tensor_block_size(item->infos[tensor].byte_length, STREAM_BLOCK, block),
    };
    return block_message(&header, item->bytes[tensor] + block * STREAM_BLOCK);
}

sw_status feed(struct reassembly *assembly, struct message message, size_t piece,
               enum reassembly_news *ret_news, sw_error *error) {
    size_t count = (message.size + piece - 1) / piece;
    struct chunk_piece *pieces = calloc(count + 1, sizeof *pieces);
    for (size_t i = 0; i < count; i++) {
        size_t size = message.size - i * piece < piece ? message.size - i * piece : piece;
        uint8_t *copy = malloc(size);
        memcpy(copy, message.data + i * piece, size);
        pieces[i] = (struct chunk_piece){copy, size};
    }
    sw_status status = reassembly_take(assembly, pieces, count, ret_news, error);
    for (size_t i = 0; i < count; i++) free((void *)pieces[i].data);
    free(pieces);
    free(message.data);
    return status;
}

sw_status feed_beside(struct reassembly *assembly, bool is_first, struct message message, sw_error *error) {
    const struct chunk_piece whole = {message.data, message.size};
    sw_status status = reassembly_take_beside(assembly, is_first, &whole, 1, error);
    free(message.data);
    return status;
}
