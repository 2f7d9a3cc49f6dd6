/* What stands between the kernel and gRPC 1.51 when a connection is read. This program defines recvmsg for
 * all of its libraries. gRPC reads a connection as long as something is there, on the very thread that would
 * answer its calls: who opens streams and resets them at once (CVE-2023-44487) has calls made without end, 13
 * KiB each, and everybody else waits. So a connection is read in turns, between which its calls are dealt
 * with. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "service/daemon/connections.h"

#define INTERPOSE __attribute__((visibility("default")))

static ssize_t read_from_kernel(int connection, struct msghdr *message, int flags) {
    return (ssize_t)syscall(SYS_recvmsg, connection, message, flags);
}

/* Into that many of the bytes that there is room for. */
static ssize_t read_at_most(int connection, struct msghdr *message, int flags, size_t most) {
    const size_t pieces = message->msg_iovlen;
    size_t i = 0;
    while (i < pieces && message->msg_iov[i].iov_len < most) most -= message->msg_iov[i++].iov_len;
    if (i == pieces) return read_from_kernel(connection, message, flags);
    struct iovec *last = &message->msg_iov[i];
    const size_t whole = last->iov_len;
    last->iov_len = most;
    message->msg_iovlen = i + 1;
    ssize_t got = read_from_kernel(connection, message, flags);
    last->iov_len = whole;
    message->msg_iovlen = pieces;
    return got;
}

/* Whoever polls the connection hears of what is there once more: epoll tells it only once (EPOLLET), and the
 * kernel looks again when the low-water mark is set, be it to what it was. */
static bool is_told_again(int connection) {
    static const int low_water = 1;
    return setsockopt(connection, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof low_water) == 0;
}

/* gRPC has the kernel say how much is left (TCP_INQ), and polls only once that is nothing. */
static int *left_to_read(struct msghdr *message) {
    for (struct cmsghdr *said = CMSG_FIRSTHDR(message); said; said = CMSG_NXTHDR(message, said)) {
        if (said->cmsg_level == SOL_TCP && said->cmsg_type == TCP_CM_INQ)
            return (int *)(void *)CMSG_DATA(said);
    }
    return NULL;
}

static void end_turn(int connection, struct msghdr *message) {
    int *left = left_to_read(message);
    if (left && *left > 0 && is_told_again(connection)) *left = 0;
}

INTERPOSE ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    ssize_t got = read_at_most(descriptor, message, flags, connections_may_read(descriptor));
    if (got > 0 && connections_have_read(descriptor, (size_t)got)) end_turn(descriptor, message);
    return got;
}
