/* The tensors of a pull under way: where their bytes go, and what is missing. Part of reassembly. */
#ifndef STAGEWIRE_CLIENT_CORE_REASSEMBLY_PARTS_H
#define STAGEWIRE_CLIENT_CORE_REASSEMBLY_PARTS_H

#include "client/core/blocks.h"
#include "client/core/wishes.h"
#include "proto/wire/messages.h"

struct part {
    uint32_t index; /* in the manifest */
    uint64_t byte_length;
    uint8_t *data;
    sw_buffer *buffer; /* NULL where the memory is the caller's */
    bool is_shared;    /* the buffer was handed over as it is: all is there, and nothing is written to it */
    struct blocks blocks;
};

struct parts {
    struct part *parts; /* in the order of the wishes, or of the manifest */
    uint32_t count;
    uint32_t *by_index; /* of the manifest: 1 + place in parts; 0: not asked for */
    uint32_t index_count;
    uint32_t block_bytes;
    uint64_t missing, arrived; /* blocks */
    uint64_t bytes, bytes_arrived;
    const struct allocator *allocator;
};

/* RESOURCE_EXHAUSTED without memory. */
sw_status parts_init(struct parts *parts, const struct wishes *wishes, const struct manifest *manifest,
                     sw_status (*allocate)(size_t, sw_buffer **, void **, sw_error *),
                     const struct allocator *allocator, sw_error *error);
void parts_destroy(struct parts *parts); /* takes a zeroed one */

struct part *parts_find(const struct parts *parts, uint32_t index); /* or NULL */

/* As reassembly_ranges: what is missing, and what was asked for to begin with. */
sw_status parts_missing(const struct parts *parts, const struct manifest *manifest, struct arena *arena,
                        const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error);
sw_status parts_wished(const struct wishes *wishes, struct arena *arena,
                       const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error);

#endif
