#include "proto/wire/digests.h"

#include <string.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/* Short contents, nearly all there are, go into one hash with their frame. */
#define SHORT_BYTES 48

struct frame {
    uint64_t what, size;
    unsigned char data[SHORT_BYTES];
};

static struct digest hash(const void *data, size_t size) {
    XXH128_hash_t bits = XXH3_128bits(data, size);
    return (struct digest){bits.low64, bits.high64};
}

struct digest digest_of_bytes(unsigned what, const void *data, size_t size) {
    struct frame frame = {.what = what, .size = size};
    if (size <= SHORT_BYTES) {
        if (size > 0) memcpy(frame.data, data, size);
    } else {
        struct digest content = hash(data, size);
        memcpy(frame.data, &content, sizeof content);
    }
    return hash(&frame, sizeof frame);
}

struct digest digest_join(struct digest first, struct digest second) {
    const uint64_t both[5] = {DIGEST_JOIN, first.low, first.high, second.low, second.high};
    return hash(both, sizeof both);
}

struct digest digest_sum(struct digest a, struct digest b) {
    struct digest sum = {a.low + b.low, a.high + b.high};
    sum.high += sum.low < a.low;
    return sum;
}
