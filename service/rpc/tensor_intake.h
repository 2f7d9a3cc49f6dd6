/* The blocks of a tensor publish on their way in: each copied once, to its place, hashed while it is hot, and
 * checked. Bytes in, a set out.
 *
 * Memory that was handed over stays where it is and becomes the tensor's own, if it is not larger than the
 * tensor: so what an item holds is what it counts for. Else its blocks are copied.
 *
 * Errors are MALFORMED and CHECKSUM with a path, as `chunk.block` or `manifest.tensors[2]`. */
#ifndef STAGEWIRE_SERVICE_TENSOR_INTAKE_H
#define STAGEWIRE_SERVICE_TENSOR_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/chunk.h"
#include "proto/wire/messages.h"

struct intake_place {
    uint8_t *bytes; /* NULL until something comes; and where blocks are dropped */
    bool is_shared; /* in memory that was handed over: only to be read */
    uint64_t token; /* which */
    uint64_t start; /* of the tensor in that memory */
};

/* Where the memory is that goes by a token: a descriptor that stays its owner's, or -1. */
typedef int intake_find(void *context, uint64_t token);

struct tensor_intake {
    struct tensor_set *set;
    const struct manifest *manifest;       /* outlives it */
    struct intake_place *places;           /* a tensor each */
    uint64_t *first_bits;                  /* a tensor each: of its blocks in `arrived` */
    uint8_t *arrived;                      /* a bit a block */
    uint64_t missing;                      /* blocks */
    void *scratch;                         /* where blocks are dropped: one block */
    uint64_t shared_tensors, shared_bytes; /* that came in memory that was handed over */
};

/* `keep` false: blocks are hashed and dropped. RESOURCE_EXHAUSTED / LIMIT without memory; then there is
 * nothing to close. */
sw_status tensor_intake_open(struct tensor_intake *intake, const struct manifest *manifest, bool keep,
                             sw_error *error);

/* One message that holds a chunk, or a run of blocks in memory that `find` finds. LIMIT with `limit`
 * "hand-over" where it finds none: the publisher may send chunks. */
sw_status tensor_intake_take(struct tensor_intake *intake, const struct chunk_piece *pieces, size_t count,
                             intake_find *find, void *context, sw_error *error);

/* All are there, and are what the manifest says. The set is then whole. */
sw_status tensor_intake_finish(struct tensor_intake *intake, struct digest *ret_digest, sw_error *error);

void tensor_intake_close(struct tensor_intake *intake); /* fine if it is zeroed */

#endif
