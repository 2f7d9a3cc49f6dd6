/* What passes over the hand-over socket, which lies beside an endpoint's Unix socket: packets of 16 bytes,
 * some with a descriptor of sealed memory.
 *
 *   client to endpoint   HELLO name          whoever pulls under this name (StreamTensorsRequest.hand_over)
 *                                            is reached here
 *                        MEMORY token + fd   to be published: SharedMemory names it by the token
 *                        DROP token          that memory is not needed any more
 *   endpoint to client   MEMORY token + fd   for a pull under way: SharedMemory names it
 *
 * Names and tokens are random numbers, known to those alone who are in on the call. The end of the connection
 * drops what waits there. A packet is sent before the message that names it, so it has arrived when that has:
 * nobody answers, and nobody waits. */
#ifndef STAGEWIRE_DEVICE_HAND_OVER_H
#define STAGEWIRE_DEVICE_HAND_OVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define HAND_OVER_SUFFIX ".memory"

enum hand_over_kind { HAND_OVER_HELLO = 1, HAND_OVER_MEMORY, HAND_OVER_DROP };

struct hand_over_packet {
    uint32_t kind;
    uint32_t unused;
    uint64_t token;
};

/* The socket's address, beside the Unix socket at `path`; false where that would be too long a path. */
bool hand_over_address(const char *path, struct sockaddr_un *ret);

/* A random number that is not 0. */
uint64_t hand_over_token(void);

/* Without waiting. `fd` -1: none goes along. False: the other side is gone, or reads nothing. */
bool hand_over_send(int socket, enum hand_over_kind kind, uint64_t token, int fd);

enum hand_over_news { HAND_OVER_GOT, HAND_OVER_NOTHING, HAND_OVER_ENDED };

/* Without waiting. *ret_fd is -1, or the receiver's to close. ENDED: the other side is gone, or sent what is
 * no packet, or a descriptor that there was no room for. */
enum hand_over_news hand_over_receive(int socket, struct hand_over_packet *ret_packet, int *ret_fd);

#endif
