#include "proto/device/hand_over.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

bool hand_over_address(const char *path, struct sockaddr_un *ret) {
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(ret->sun_path, sizeof ret->sun_path, "%s" HAND_OVER_SUFFIX, path);
    return (size_t)size < sizeof ret->sun_path;
}

uint64_t hand_over_token(void) {
    uint64_t token = 0;
    while (token == 0) {
        if (getrandom(&token, sizeof token, 0) != sizeof token) token = 0;
    }
    return token;
}

/* Room for one descriptor; the kernel closes what more there is. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_LEN(sizeof(int))];
};

static void attach(struct msghdr *message, union control *control, int fd) {
    memset(control, 0, sizeof *control);
    message->msg_control = control;
    message->msg_controllen = CMSG_LEN(sizeof fd);
    control->header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control->header), &fd, sizeof fd);
}

bool hand_over_send(int socket, enum hand_over_kind kind, uint64_t token, int fd) {
    struct hand_over_packet packet = {.kind = kind, .token = token};
    struct iovec part = {&packet, sizeof packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    if (fd >= 0) attach(&message, &control, fd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof packet;
}

static int take_descriptor(struct msghdr *message) {
    int fd = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    if (header->cmsg_len == CMSG_LEN(sizeof fd)) memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

enum hand_over_news hand_over_receive(int socket, struct hand_over_packet *ret_packet, int *ret_fd) {
    union control control;
    struct iovec part = {ret_packet, sizeof *ret_packet};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return errno == EAGAIN || errno == EINTR ? HAND_OVER_NOTHING : HAND_OVER_ENDED;
    *ret_fd = take_descriptor(&message);
    if (size == sizeof *ret_packet && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) return HAND_OVER_GOT;
    if (*ret_fd >= 0) close(*ret_fd);
    return HAND_OVER_ENDED;
}
