/* How many connections the process has, in all and of an address: one that opens them without end takes its
 * own share, and not that of all others. Counting only; what accepts them is accept.h. Any thread. */
#ifndef STAGEWIRE_DAEMON_CONNECTIONS_H
#define STAGEWIRE_DAEMON_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct connections_limits {
    uint32_t all, of_address;
};

/* Kept free of what comes over the network, for those on a Unix socket: a trainer gets in whatever strangers
 * do. */
#define CONNECTIONS_LOCAL 64

/* Once, before any is admitted. Descriptors from `descriptors` on are not counted. False without memory. */
bool connections_begin(struct connections_limits limits, uint32_t descriptors);
void connections_end(void); /* forgets all */

/* False beyond a limit; then it is not counted. IPv6 is counted by its network (/64), in which anyone has as
 * many addresses as he likes; Unix sockets only in all. */
bool connections_admit(int descriptor, const struct sockaddr_storage *peer);
/* Before the descriptor is free for others. Fine if it is no connection. */
void connections_leave(int descriptor);

uint32_t connections_count(void);

#endif
