/* Which setting to change, concluded from what was measured. */
#ifndef STAGEWIRE_CLIENT_CLI_BENCH_ADVICE_H
#define STAGEWIRE_CLIENT_CLI_BENCH_ADVICE_H

#include "client/cli/bench/results.h"

#define ADVICE_MAX 8

struct advice {
    char change[256]; /* the setting, and to what */
    char reason[256]; /* with the figures that it follows from */
};

struct advice_machine {
    uint64_t receive_max;  /* bytes that it gives a TCP connection to receive into, at most; 0: not known */
    bool lacks_huge_pages; /* for memory that processes share: its kernel has them, and gives none */
};

/* Pure. `machine` is the one that this side runs on. */
size_t advise(const struct bench_results *results, const struct advice_machine *machine,
              struct advice advice[ADVICE_MAX]);

struct advice_machine advice_this_machine(void);

#endif
