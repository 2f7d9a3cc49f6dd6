/* The demo's random numbers: the same everywhere from the same seed, unlike those of a C library. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_MODEL_RANDOM_H
#define STAGEWIRE_CLIENT_CLI_DEMO_MODEL_RANDOM_H

#include <stdint.h>

/* splitmix64. The state is all there is; copy it to repeat what follows. */
struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random) {
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Purposes draw from streams of their own, so that one that draws more does not shift another. */
enum random_purpose { RANDOM_WEIGHTS = 1, RANDOM_ORDER = 2 };

/* The stream of the n-th thing (layer, epoch) of a purpose. */
static inline struct random random_stream(uint64_t seed, enum random_purpose purpose, uint64_t n) {
    struct random mix = {.state = seed};
    mix.state = random_next(&mix) ^ (uint64_t)purpose;
    mix.state = random_next(&mix) ^ n;
    return (struct random){.state = random_next(&mix)};
}

/* From 0 up to but not including `bound`, which is not 0 and far below 2^32, where the modulo's bias can't be
 * seen. */
static inline uint32_t random_below(struct random *random, uint32_t bound) {
    return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

/* From -1 up to but not including 1, in steps of 2^-23: exact in a float. */
static inline float random_signed_unit(struct random *random) {
    return (float)(int32_t)((random_next(random) >> 40) - (INT64_C(1) << 23)) * 0x1p-23f;
}

#endif
