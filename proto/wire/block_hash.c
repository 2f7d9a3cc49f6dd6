#include "proto/wire/chunk.h"
#include "proto/wire/tensors.h"

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

uint64_t block_hash(const void *data, size_t size) {
#if defined(__x86_64__)
    return XXH3_64bits_dispatch(data, size);
#else
    return XXH3_64bits(data, size);
#endif
}

static void add_to_hash(void *state, const uint8_t *data, size_t size) {
#if defined(__x86_64__)
    XXH3_64bits_update_dispatch(state, data, size);
#else
    XXH3_64bits_update(state, data, size);
#endif
}

bool chunk_hash_payload(const struct chunk_piece *pieces, size_t count, const struct chunk_view *view,
                        uint64_t *ret_hash) {
    XXH3_state_t *state = XXH3_createState();
    if (!state) return false;
    XXH3_64bits_reset(state);
    chunk_each_payload(pieces, count, view, add_to_hash, state);
    *ret_hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return true;
}

/* Tensors travel as they lie in memory, and so do the hashes that are hashed here. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "stagewire runs on little-endian machines");

uint64_t tensor_digest(const uint64_t *block_hashes, uint64_t blocks) {
    return block_hash(block_hashes, blocks * sizeof *block_hashes);
}

void tensor_hash(struct tensor *tensor, uint32_t block_bytes) {
    const uint8_t *bytes = sw_buffer_data(tensor->bytes);
    uint64_t length = tensor->info.byte_length, blocks = tensor_blocks(length, block_bytes);
    for (uint64_t block = 0; block < blocks; block++) {
        uint32_t size = tensor_block_size(length, block_bytes, block);
        tensor->block_hashes[block] = block_hash(bytes + block * block_bytes, size);
    }
    tensor->info.digest = tensor_digest(tensor->block_hashes, blocks);
}
