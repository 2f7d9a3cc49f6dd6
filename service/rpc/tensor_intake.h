/* The blocks of a tensor publish on their way in: each copied once, to its place, hashed while it is hot, and
 * checked. Pure: bytes in, a set out.
 *
 * Errors are MALFORMED and CHECKSUM with a path, as `chunk.block` or `manifest.tensors[2]`. */
#ifndef STAGEWIRE_SERVICE_TENSOR_INTAKE_H
#define STAGEWIRE_SERVICE_TENSOR_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/chunk.h"
#include "proto/wire/messages.h"

struct tensor_intake {
    struct tensor_set *set;
    const struct manifest *manifest; /* outlives it */
    uint8_t **places;                /* a tensor each: where its bytes go; NULL where blocks are dropped */
    uint64_t *first_bits;            /* a tensor each: of its blocks in `arrived` */
    uint8_t *arrived;                /* a bit a block */
    uint64_t missing;                /* blocks */
    void *scratch;                   /* where blocks are dropped: one block */
};

/* `keep` false: blocks are hashed and dropped. RESOURCE_EXHAUSTED / LIMIT without memory; then there is
 * nothing to close. */
sw_status tensor_intake_open(struct tensor_intake *intake, const struct manifest *manifest, bool keep,
                             sw_error *error);

/* One message that holds a chunk. */
sw_status tensor_intake_take(struct tensor_intake *intake, const struct chunk_piece *pieces, size_t count,
                             sw_error *error);

/* All are there, and are what the manifest says. The set is then whole. */
sw_status tensor_intake_finish(struct tensor_intake *intake, struct digest *ret_digest, sw_error *error);

void tensor_intake_close(struct tensor_intake *intake); /* fine if it is zeroed */

#endif
