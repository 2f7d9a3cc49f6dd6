/* How long calls took: counts by size, so that percentiles of any number of calls cost nothing. */
#ifndef STAGEWIRE_CLIENT_CLI_LATENCY_H
#define STAGEWIRE_CLIENT_CLI_LATENCY_H

#include <stdint.h>

#define LATENCY_PARTS   16 /* of every doubling: a percentile is right to a 16th */
#define LATENCY_BUCKETS (61 * LATENCY_PARTS)

struct latency {
    uint64_t count;
    uint64_t buckets[LATENCY_BUCKETS];
};

void latency_add(struct latency *latency, int64_t ns); /* below 0 counts as 0 */

/* The time in nanoseconds that `share` (0.5, 0.99) of all were not above; 0 if there are none. */
uint64_t latency_percentile_ns(const struct latency *latency, double share);

#endif
