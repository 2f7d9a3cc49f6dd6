/* Tensors put together from the blocks of one or more streams, straight in their final place.
 *
 * Each stream begins with a manifest, then come blocks in any order. A block is checked against the
 * manifest's bounds and its own hash, copied once, and remembered by its hash; when none is missing, the
 * block hashes are checked against each tensor's digest. Blocks that come as memory which was handed over are
 * hashed too; where a whole tensor lies there, and nobody gave memory for it, that memory is its place. A
 * stream that breaks is followed by another one for what reassembly_ranges says; if that one tells of other
 * content at the same address (an endpoint that started anew), all starts over.
 *
 * Whatever is wrong with what arrived is DATA_LOSS / CHECKSUM. Not thread-safe. */
#ifndef STAGEWIRE_CLIENT_CORE_REASSEMBLY_H
#define STAGEWIRE_CLIENT_CORE_REASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/client.h>

#include "client/core/wishes.h"
#include "proto/base/allocator.h"
#include "proto/wire/chunk.h"
#include "proto/wire/messages.h"

struct reassembly;
struct parts;

/* Memory that was handed over, by the token that a message of the stream has for it: what the core knows of
 * it. Both say false for what is not there, or may still be changed. */
struct reassembly_memory {
    bool (*map)(void *context, uint64_t token, uint64_t offset, size_t size, sw_buffer **ret_buffer);
    bool (*read)(void *context, uint64_t token, uint64_t offset, void *out, size_t size);
    void *context;
};

struct reassembly_options {
    struct wishes *wishes;   /* stays the caller's, and where it is */
    const sw_address *asked; /* the same */
    bool latest;
    bool manifest_only;
    /* Memory for tensors that nobody gave memory for: device_ops.allocate. */
    sw_status (*allocate)(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error);
    const struct allocator *allocator;
    struct reassembly_memory memory;
};

/* NULL without memory. */
struct reassembly *reassembly_create(const struct reassembly_options *options);
void reassembly_destroy(struct reassembly *assembly); /* takes NULL */

/* A new stream: its first message is a manifest. */
void reassembly_stream_begins(struct reassembly *assembly);
/* Drops what has arrived: for an endpoint that says that what is missing does not exist there. */
void reassembly_start_over(struct reassembly *assembly);

enum reassembly_news {
    REASSEMBLY_MANIFEST,
    REASSEMBLY_BLOCK,
    /* The manifest is of other content than before: what has arrived was dropped. End this stream and begin
     * one for all that is missing. */
    REASSEMBLY_STARTED_OVER,
};

/* One message of a stream. (Where memory can't be read, `memory.read` knows.) Errors: DATA_LOSS / CHECKSUM;
 * NO_SUCH_TENSOR and INVALID_ARGUMENT of wishes_fit, before anything was written; RESOURCE_EXHAUSTED. */
sw_status reassembly_take(struct reassembly *assembly, const struct chunk_piece *pieces, size_t count,
                          enum reassembly_news *ret_news, sw_error *error);

/* One message of another stream that goes on at the same time, for some of what is missing: its first one is
 * a manifest too, and where that is of other content nothing but the error comes of it. Only once
 * reassembly_manifest; errors as above. */
sw_status reassembly_take_beside(struct reassembly *assembly, bool is_first, const struct chunk_piece *pieces,
                                 size_t count, sw_error *error);

/* NULL until one has come. */
const struct manifest *reassembly_manifest(const struct reassembly *assembly);
bool reassembly_whole(const struct reassembly *assembly);
/* Grows with every block: whether a stream brought anything. */
uint64_t reassembly_blocks_arrived(const struct reassembly *assembly);
/* Of what was asked for; 0 until a manifest has come. */
uint64_t reassembly_bytes_arrived(const struct reassembly *assembly);
uint64_t reassembly_bytes_in_all(const struct reassembly *assembly);

/* What to ask the next stream for, in `arena`: nothing at all (count 0) for all of the item. What names would
 * take more than half a message is left for the stream after. RESOURCE_EXHAUSTED without memory. */
sw_status reassembly_ranges(const struct reassembly *assembly, struct arena *arena,
                            const struct tensor_range **ret_ranges, uint32_t *ret_count, sw_error *error);

/* What there is to be shared by several streams: see runs.h. Only once reassembly_manifest. */
const struct parts *reassembly_parts(const struct reassembly *assembly);

/* Checks the digests and hands over the result: in the order of the wishes, or of the manifest. CHECKSUM
 * where a tensor is not what its digest says; RESOURCE_EXHAUSTED. Only once reassembly_whole; then only
 * destroy it.
 */
sw_status reassembly_finish(struct reassembly *assembly, sw_tensors **ret_tensors, sw_error *error);

#endif
