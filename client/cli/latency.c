#include "client/cli/latency.h"

#include <math.h>

#define PART_BITS 4

/* Below LATENCY_PARTS a bucket a number, then LATENCY_PARTS buckets for each power of two. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < LATENCY_PARTS) return (unsigned)ns;
    unsigned power = 63u - (unsigned)__builtin_clzll(ns);
    unsigned part = (unsigned)(ns >> (power - PART_BITS)) & (LATENCY_PARTS - 1);
    return (power - PART_BITS + 1) * LATENCY_PARTS + part;
}

static uint64_t lowest_of(unsigned bucket) {
    if (bucket < LATENCY_PARTS) return bucket;
    unsigned power = bucket / LATENCY_PARTS - 1 + PART_BITS;
    uint64_t part = bucket % LATENCY_PARTS;
    return (UINT64_C(1) << power) + (part << (power - PART_BITS));
}

void latency_add(struct latency *latency, int64_t ns) {
    latency->buckets[bucket_of(ns > 0 ? (uint64_t)ns : 0)]++;
    latency->count++;
}

uint64_t latency_percentile_ns(const struct latency *latency, double share) {
    uint64_t wanted = (uint64_t)ceil(share * (double)latency->count);
    uint64_t seen = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
        seen += latency->buckets[i];
        if (seen >= wanted && seen > 0) return lowest_of(i);
    }
    return 0;
}
