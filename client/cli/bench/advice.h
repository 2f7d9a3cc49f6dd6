/* Which setting to change, concluded from what was measured. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_ADVICE_H
#define STAGEWIRE_CLIENT_CLI_BENCH_ADVICE_H

#include "client/cli/bench/results.h"

#define ADVICE_MAX 8

struct advice {
    char change[256]; /* the setting, and to what */
    char reason[256]; /* with the figures that it follows from */
};

/* Pure. `receive_max` is the largest receive buffer that this machine gives a TCP connection, in bytes; 0:
 * not known. */
size_t advise(const struct bench_results *results, uint64_t receive_max, struct advice advice[ADVICE_MAX]);

/* The last number of /proc/sys/net/ipv4/tcp_rmem, 0 if there is none. */
uint64_t advice_receive_max(void);

#endif
