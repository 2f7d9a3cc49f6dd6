/* A long link between two network namespaces of this process's own: packets arrive late, and some never. For
 * root, with /dev/net/tun; there is no netem in every kernel. */
#ifndef STAGEWIRE_TESTS_LINK_LINK_H
#define STAGEWIRE_TESTS_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_NEAR_ADDRESS "10.77.0.1"
#define LINK_FAR_ADDRESS  "10.77.0.2"

struct link;

struct link_options {
    int64_t delay_us;       /* each way */
    unsigned loss_permille; /* each way */
    uint64_t seed;          /* which packets are lost */
};

/* NULL where that is not possible here; *ret_why then says why. */
struct link *link_open(const struct link_options *options, const char **ret_why);
void link_close(struct link *link);

/* The calling thread, and what it starts from now on, is at that end. gRPC's threads stay where the first
 * client or endpoint of the process was opened. */
void link_go_near(const struct link *link);
void link_go_far(const struct link *link);

struct link_counts {
    uint64_t packets, bytes, lost, crowded_out;
};
struct link_counts link_count(struct link *link);

#endif
