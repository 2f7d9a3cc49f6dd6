#include "client/rpc/hand_over.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/core/endpoint_name.h"
#include "proto/device/hand_over.h"
#include "proto/device/shared.h"

void hand_over_init(struct hand_over *hand_over, const char *endpoint) {
    *hand_over = (struct hand_over){.socket = -1};
    if (!endpoint_name_is_unix(endpoint)) return;
    hand_over->path = strchr(endpoint, ':') + 1;
    if (hand_over_address(hand_over->path, &hand_over->address))
        shared_taker_came();
    else
        hand_over->address.sun_family = 0;
}

static void forget_arrived(struct hand_over *hand_over) {
    while (hand_over->arrived_count > 0) close(hand_over->arrived[--hand_over->arrived_count].fd);
}

static void disconnect(struct hand_over *hand_over) {
    if (hand_over->socket >= 0) close(hand_over->socket);
    hand_over->socket = -1;
    hand_over->given = 0;
}

void hand_over_fini(struct hand_over *hand_over) {
    forget_arrived(hand_over);
    disconnect(hand_over);
    if (hand_over->address.sun_family == AF_UNIX) shared_taker_left();
    hand_over->address.sun_family = 0;
}

bool hand_over_is_offered(const struct hand_over *hand_over) {
    struct stat there;
    return hand_over->address.sun_family == AF_UNIX && stat(hand_over->address.sun_path, &there) == 0 &&
           S_ISSOCK(there.st_mode);
}

bool hand_over_is_connected(const struct hand_over *hand_over) {
    return hand_over->socket >= 0;
}

/* ---- connecting ---- */

/* Who listens there must be whom the endpoint's own socket belongs to: in a folder where others may make
 * files it could be anybody. */
static bool is_the_endpoints(const struct hand_over *hand_over, int socket) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct stat own;
    return stat(hand_over->path, &own) == 0 &&
           getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == own.st_uid;
}

static bool introduce(struct hand_over *hand_over, int socket) {
    const struct sockaddr *address = (const struct sockaddr *)&hand_over->address;
    if (connect(socket, address, sizeof hand_over->address) != 0) return false;
    hand_over->name = hand_over_token();
    return is_the_endpoints(hand_over, socket) &&
           hand_over_send(socket, HAND_OVER_HELLO, hand_over->name, -1);
}

static bool connect_to(struct hand_over *hand_over) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    if (!introduce(hand_over, fd)) {
        close(fd);
        return false;
    }
    hand_over->socket = fd;
    return true;
}

/* ---- what arrives ---- */

static void keep(struct hand_over *hand_over, uint64_t token, int fd) {
    if (hand_over->arrived_count == LIMIT_HANDED_OVER) {
        close(fd);
        return;
    }
    hand_over->arrived[hand_over->arrived_count].token = token;
    hand_over->arrived[hand_over->arrived_count++].fd = fd;
}

static void receive_all(struct hand_over *hand_over) {
    struct hand_over_packet packet;
    enum hand_over_news news = HAND_OVER_GOT;
    while (hand_over->socket >= 0 && news == HAND_OVER_GOT) {
        int fd;
        news = hand_over_receive(hand_over->socket, &packet, &fd);
        if (news == HAND_OVER_GOT && fd >= 0) keep(hand_over, packet.token, fd);
        if (news == HAND_OVER_ENDED) disconnect(hand_over);
    }
}

static int find(const struct hand_over *hand_over, uint64_t token) {
    for (unsigned i = 0; i < hand_over->arrived_count; i++) {
        if (hand_over->arrived[i].token == token) return hand_over->arrived[i].fd;
    }
    return -1;
}

int hand_over_arrived(struct hand_over *hand_over, uint64_t token) {
    int fd = find(hand_over, token);
    if (fd >= 0) return fd;
    receive_all(hand_over);
    return find(hand_over, token);
}

void hand_over_forget(struct hand_over *hand_over, uint64_t token) {
    for (unsigned i = 0; i < hand_over->arrived_count; i++) {
        if (hand_over->arrived[i].token != token) continue;
        close(hand_over->arrived[i].fd);
        hand_over->arrived[i] = hand_over->arrived[--hand_over->arrived_count];
        return;
    }
}

/* An endpoint that ended meanwhile is noticed here. */
static bool is_ready(struct hand_over *hand_over) {
    receive_all(hand_over);
    if (hand_over->socket >= 0) return true;
    return hand_over->address.sun_family == AF_UNIX && connect_to(hand_over);
}

uint64_t hand_over_begin(struct hand_over *hand_over) {
    hand_over->pulls++;
    return is_ready(hand_over) ? hand_over->name : 0;
}

void hand_over_end(struct hand_over *hand_over) {
    if (--hand_over->pulls > 0) return;
    receive_all(hand_over);
    forget_arrived(hand_over);
}

/* ---- what goes out ---- */

uint64_t hand_over_give(struct hand_over *hand_over, int fd) {
    if (hand_over->given == LIMIT_HANDED_OVER || !is_ready(hand_over)) return 0;
    uint64_t token = hand_over_token();
    if (!hand_over_send(hand_over->socket, HAND_OVER_MEMORY, token, fd)) {
        disconnect(hand_over);
        return 0;
    }
    hand_over->given++;
    return token;
}

/* The end of the connection drops all, so what it was given for later is as good as dropped. */
void hand_over_take_back(struct hand_over *hand_over, uint64_t token) {
    if (hand_over->socket < 0 || hand_over->given == 0) return;
    hand_over->given--;
    if (!hand_over_send(hand_over->socket, HAND_OVER_DROP, token, -1)) disconnect(hand_over);
}
