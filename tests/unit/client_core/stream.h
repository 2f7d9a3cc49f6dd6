/* A stream of tensors as an endpoint would send it, message by message, to be cut, bent and left out. */
#ifndef STAGEWIRE_TESTS_STREAM_H
#define STAGEWIRE_TESTS_STREAM_H

#include "client/core/reassembly.h"
#include "proto/wire/tensors.h"

#define STREAM_BLOCK 1024u

struct item {
    struct manifest manifest;
    struct tensor_info infos[8];
    uint8_t *bytes[8];
    uint64_t *hashes[8];
};

/* `sizes` in bytes (U8 vectors), at step 7 of stage 3, "train"; the bytes follow `seed`. */
void item_create(struct item *item, const uint64_t *sizes, uint32_t count, unsigned seed);
void item_destroy(struct item *item);

/* A message: free `data`. */
struct message {
    uint8_t *data;
    size_t size;
};
struct message item_manifest(const struct item *item);
struct message item_block(const struct item *item, uint32_t tensor, uint64_t block);
struct message block_message(const struct chunk_header *header, const void *payload);

/* Hands the message over in pieces of at most `piece` bytes, each in memory of its own size, and frees it. */
sw_status feed(struct reassembly *assembly, struct message message, size_t piece,
               enum reassembly_news *ret_news, sw_error *error);

/* The same of a stream beside the first one, in one piece. */
sw_status feed_beside(struct reassembly *assembly, bool is_first, struct message message, sw_error *error);

#endif
