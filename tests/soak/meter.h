/* What a process takes, over time. */
#ifndef STAGEWIRE_TESTS_SOAK_METER_H
#define STAGEWIRE_TESTS_SOAK_METER_H

#include <stddef.h>
#include <sys/types.h>

struct reading {
    double mib, descriptors, threads; /* mib: VmRSS */
};

struct reading meter_read(pid_t process);

/* The median of each. */
struct reading meter_middle(const struct reading *readings, size_t count);

#endif
