/* Time is handed in, so that tests move it by hand. */
#ifndef STAGEWIRE_BASE_CLOCK_H
#define STAGEWIRE_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX

struct clock {
    int64_t (*now_ms)(void *context);  /* monotonic milliseconds */
    int64_t (*unix_ns)(void *context); /* wall clock, nanoseconds since 1970 */
    void *context;
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME. */
extern const struct clock clock_system;

static inline int64_t clock_now_ms(const struct clock *clock) {
    return clock->now_ms(clock->context);
}

/* A point in time `ms` after `now`, CLOCK_NEVER where that overflows. */
static inline int64_t clock_after(int64_t now_ms, int64_t ms) {
    return ms > CLOCK_NEVER - now_ms ? CLOCK_NEVER : now_ms + ms;
}

#endif
