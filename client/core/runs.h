/* Which blocks several streams of one pull still have to ask for: each takes a share of what is left, and
 * what of it does not come is left again. Both are runs of blocks. Part of reassembly. */
#ifndef STAGEWIRE_CLIENT_CORE_RUNS_H
#define STAGEWIRE_CLIENT_CORE_RUNS_H

#include "client/core/reassembly_parts.h"

struct run {
    uint32_t part; /* place in the parts */
    uint64_t first, count;
};

/* Zeroed it is empty. The last run is the first to be taken. */
struct runs {
    struct run *runs;
    uint32_t count, room;
    uint64_t bytes;
    const struct allocator *allocator;
};
void runs_destroy(struct runs *runs); /* leaves it empty */

/* All that is missing, in the parts' order. False without memory. */
bool runs_missing(const struct parts *parts, struct runs *ret);

/* Moves runs from `left` to an empty `share`, up to the block that reaches `bytes`, and no more than a
 * request may name. False without memory: then some may have moved. */
bool runs_take(const struct parts *parts, struct runs *left, uint64_t bytes, struct runs *share);

/* What of the share has not arrived is left again, and next to be taken; the share is empty then. False
 * without memory. */
bool runs_give_back(const struct parts *parts, struct runs *left, struct runs *share);

uint64_t runs_blocks(const struct runs *runs);

/* What of a share has not arrived. */
uint64_t runs_missing_bytes(const struct parts *parts, const struct runs *share);

/* What of the share has not arrived is left too, its last block to be taken first: so that who brings the
 * share and who takes that meet in the middle. False without memory. */
bool runs_double(const struct parts *parts, struct runs *left, const struct runs *share);

/* As a request names them. RESOURCE_EXHAUSTED without memory. */
sw_status runs_ranges(const struct runs *share, const struct parts *parts, const struct manifest *manifest,
                      struct arena *arena, const struct tensor_range **ret_ranges, uint32_t *ret_count,
                      sw_error *error);

#endif
