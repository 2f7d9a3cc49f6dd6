/* A long link between two network namespaces of this process's own: packets arrive late, no faster than its
 * rate, and some never. For root, with /dev/net/tun; there is no netem in every kernel. Namespaces, devices
 * and packets go with the process, however it ends. */
#ifndef STAGEWIRE_TESTS_LINK_LINK_H
#define STAGEWIRE_TESTS_LINK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_NEAR_ADDRESS "10.77.0.1"
#define LINK_FAR_ADDRESS  "10.77.0.2"

struct link;

/* All of it each way. */
struct link_options {
    int64_t delay_us;
    unsigned rate_mbit; /* 0: no limit */
    int64_t queue_us;   /* how long a packet may wait for its turn; what would wait longer is crowded out */
    unsigned loss_ppm;  /* of a million packets, at random */
    uint64_t seed;      /* which ones */
    unsigned mtu;       /* bytes */
};

/* NULL where that is not possible here; *ret_why then says why. The calling thread is at the far end
 * afterwards. */
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
