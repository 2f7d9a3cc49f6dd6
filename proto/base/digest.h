/* 128 bits that stand for a content when two are compared. */
#ifndef STAGEWIRE_BASE_DIGEST_H
#define STAGEWIRE_BASE_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

struct digest {
    uint64_t low, high;
};

static inline bool digest_equal(struct digest a, struct digest b) {
    return a.low == b.low && a.high == b.high;
}

#endif
