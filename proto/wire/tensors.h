/* The tensors of an item: names, types, shapes, bytes and block hashes. Immutable once it is whole, counted,
 * and shared by every stream that sends it. The count is atomic; everything else is read only. */
#ifndef STAGEWIRE_WIRE_TENSORS_H
#define STAGEWIRE_WIRE_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/buffer.h>
#include <stagewire/tensor.h>

#include "proto/base/allocator.h"
#include "proto/base/digest.h"

/* One tensor, as a manifest tells it. */
struct tensor_info {
    const char *name;
    sw_dtype dtype;
    uint32_t rank;
    const int64_t *shape;
    uint64_t byte_length;
    uint64_t digest; /* XXH3-64 of its block hashes; 0 where not known yet */
};

struct tensor {
    struct tensor_info info; /* strings and shape live in the set */
    sw_buffer *bytes;        /* NULL until it has arrived; byte_length bytes */
    uint64_t *block_hashes;  /* tensor_blocks(…) of them */
};

struct tensor_set {
    uint32_t count;
    uint32_t block_bytes;
    uint64_t byte_length; /* of all tensors */
    struct tensor *tensors;
};

uint64_t tensor_blocks(uint64_t byte_length, uint32_t block_bytes); /* 0 for an empty tensor */
uint32_t tensor_block_size(uint64_t byte_length, uint32_t block_bytes, uint64_t block);

/* Copies the infos; no bytes and no hashes yet. NULL without memory. The set starts with one reference. */
struct tensor_set *tensor_set_create(const struct tensor_info *infos, uint32_t count, uint32_t block_bytes,
                                     const struct allocator *allocator);
struct tensor_set *tensor_set_ref(struct tensor_set *set);
void tensor_set_unref(struct tensor_set *set); /* takes NULL; releases the tensors' buffers */

/* The tensor of that name, or -1. Flat in the number of tensors. */
int64_t tensor_set_find(const struct tensor_set *set, const char *name, size_t size);

/* Hashes all blocks of a tensor whose bytes are there, and sets its digest. */
void tensor_hash(struct tensor *tensor, uint32_t block_bytes);
uint64_t tensor_digest(const uint64_t *block_hashes, uint64_t blocks);

/* What stands for the whole content: names, types, shapes, block size and digests, whatever the tensors'
 * order. */
struct digest tensor_set_digest(const struct tensor_set *set);

uint64_t block_hash(const void *data,
                    size_t size); /* XXH3-64, seed 0, by the fastest code this machine has */

#endif
