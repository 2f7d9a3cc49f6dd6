/* For a line that others can cause as often as they like: a few at once, then one a second, and how many were
 * left out. Any thread. */
#ifndef STAGEWIRE_BASE_LOG_RATE_H
#define STAGEWIRE_BASE_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed before its first use. */
struct log_rate {
    _Atomic int64_t full_ms; /* when all that is saved up is there again */
    _Atomic uint64_t left_out;
};

#define LOG_RATE_AT_ONCE 10

/* Whether to log now, and how many were left out since the last one that was logged. */
bool log_rate_allows(struct log_rate *rate, int64_t now_ms, uint64_t *ret_left_out);

#endif
