/* How digests are put together: what goes in is framed by what it is and how long, so that two different
 * structures never feed the same bytes. */
#ifndef STAGEWIRE_WIRE_DIGESTS_H
#define STAGEWIRE_WIRE_DIGESTS_H

#include <stddef.h>

#include "proto/base/digest.h"

/* Below DIGEST_TENSOR_NAME: the kinds of values. */
enum digest_of {
    DIGEST_TENSOR_NAME = 64,
    DIGEST_TENSOR_PARTS,
    DIGEST_TENSOR_SHAPE,
    DIGEST_TENSOR_SET,
    DIGEST_KEY,
    DIGEST_JOIN,
};

struct digest digest_of_bytes(unsigned what, const void *data, size_t size);
struct digest digest_join(struct digest first, struct digest second); /* in this order */
struct digest digest_sum(struct digest a, struct digest b);           /* in any order */

#endif
