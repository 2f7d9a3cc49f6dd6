/* For how long something took. */
#ifndef STAGEWIRE_CLIENT_CLI_STOPWATCH_H
#define STAGEWIRE_CLIENT_CLI_STOPWATCH_H

#include <stdint.h>
#include <time.h>

static inline int64_t stopwatch_ns(void) { /* monotonic */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
