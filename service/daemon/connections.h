/* How many connections the process has, in all and of an address: one that opens them without end takes its
 * own share, and not that of all others. Counting only; what accepts and reads them is accept.h and
 * reading.c. Any thread. */
#ifndef STAGEWIRE_DAEMON_CONNECTIONS_H
#define STAGEWIRE_DAEMON_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
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

/* Connections take turns in being read, so that what one sends is dealt with before it may send more: how
 * many bytes are left of this one's turn, SIZE_MAX for what has no turns (Unix sockets, and what is no
 * connection). One thread at a time a descriptor. */
#define CONNECTIONS_TURN_BYTES (64u << 10)
size_t connections_may_read(int descriptor);
/* At most what it may; true: its turn is over, and the next one begins with what it reads then. */
bool connections_have_read(int descriptor, size_t bytes);

uint32_t connections_count(void);

#endif
