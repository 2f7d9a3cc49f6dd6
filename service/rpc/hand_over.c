#include "service/rpc/hand_over.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/list.h"
#include "proto/base/log.h"
#include "proto/device/hand_over.h"
#include "proto/device/shared.h"

#define EVENTS_AT_ONCE  32
#define PACKETS_AT_ONCE 128 /* of a peer: one that never stops sending must not stop the loop */

struct piece {
    uint64_t token;
    int fd;
};

/* What epoll tells of: a listener or a peer; which one is told by `ready`. */
struct source {
    void (*ready)(struct source *source);
    struct hand_over *all;
    struct list link;
    int socket;
};

struct place {
    struct source source;
    struct sockaddr_un address;
};

struct peer {
    struct source source;
    uint64_t name; /* 0: it has not said one */
    unsigned count;
    struct piece pieces[LIMIT_HANDED_OVER];
};

struct hand_over {
    struct loop *loop;
    struct list places, peers;
    unsigned waiting, connections;
    struct hand_over_info counts;
    int ready;        /* epoll: the sockets */
    int watched;      /* epoll: `ready`, told once each time it was asked for, and `stop` */
    int stop;         /* eventfd */
    struct wake look; /* something is ready */
    pthread_t watcher;
};

/* ---- peers ---- */

static void drop_piece(struct peer *peer, unsigned index) {
    close(peer->pieces[index].fd);
    peer->pieces[index] = peer->pieces[--peer->count];
    peer->source.all->waiting--;
}

static void end_peer(struct peer *peer) {
    while (peer->count > 0) drop_piece(peer, 0);
    list_remove(&peer->source.link);
    peer->source.all->connections--;
    close(peer->source.socket);
    free(peer);
}

/* One that goes beyond its own share is cut off; beyond everybody's, the memory is as never handed over. */
static bool take_piece(struct peer *peer, uint64_t token, int fd) {
    struct hand_over *all = peer->source.all;
    if (fd < 0) return false;
    if (peer->count == LIMIT_HANDED_OVER || all->waiting == LIMIT_HANDED_OVER_ALL) {
        close(fd);
        return peer->count < LIMIT_HANDED_OVER;
    }
    peer->pieces[peer->count++] = (struct piece){token, fd};
    all->waiting++;
    return true;
}

static void drop_token(struct peer *peer, uint64_t token) {
    for (unsigned i = 0; i < peer->count; i++) {
        if (peer->pieces[i].token != token) continue;
        drop_piece(peer, i);
        return;
    }
}

/* False for what is none of the protocol's. */
static bool take_packet(struct peer *peer, const struct hand_over_packet *packet, int fd) {
    if (packet->kind == HAND_OVER_MEMORY) return take_piece(peer, packet->token, fd);
    if (fd >= 0) close(fd);
    if (fd >= 0) return false;
    if (packet->kind == HAND_OVER_HELLO) peer->name = packet->token;
    if (packet->kind == HAND_OVER_DROP) drop_token(peer, packet->token);
    return packet->kind == HAND_OVER_HELLO || packet->kind == HAND_OVER_DROP;
}

static void peer_ready(struct source *source) {
    struct peer *peer = container_of(source, struct peer, source);
    for (unsigned i = 0; i < PACKETS_AT_ONCE; i++) {
        struct hand_over_packet packet;
        int fd;
        enum hand_over_news news = hand_over_receive(source->socket, &packet, &fd);
        if (news == HAND_OVER_NOTHING) return;
        if (news == HAND_OVER_ENDED || !take_packet(peer, &packet, fd)) {
            end_peer(peer);
            return;
        }
    }
}

/* ---- listening ---- */

static bool watch(struct source *source) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    return epoll_ctl(source->all->ready, EPOLL_CTL_ADD, source->socket, &event) == 0;
}

static bool add_peer(struct hand_over *all, int socket) {
    struct peer *peer = all->connections < LIMIT_HAND_OVERS ? calloc(1, sizeof *peer) : NULL;
    if (!peer) return false;
    peer->source = (struct source){.ready = peer_ready, .all = all, .socket = socket};
    if (!watch(&peer->source)) {
        free(peer);
        return false;
    }
    list_append(&all->peers, &peer->source.link);
    all->connections++;
    peer_ready(&peer->source); /* what it has sent before it was accepted may be named already */
    return true;
}

/* Without descriptors they stay in the queue, until one is free and somebody comes. */
static void place_ready(struct source *source) {
    int socket;
    while ((socket = accept4(source->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (!add_peer(source->all, socket)) close(socket);
    }
}

static bool bind_to(int socket, const struct sockaddr_un *address) {
    struct stat there;
    if (lstat(address->sun_path, &there) == 0 && S_ISSOCK(there.st_mode)) unlink(address->sun_path);
    mode_t before = umask(0007); /* never open to others, not even for a moment */
    bool bound = bind(socket, (const struct sockaddr *)address, sizeof *address) == 0;
    umask(before);
    return bound && chmod(address->sun_path, 0660) == 0;
}

static bool open_place(struct place *place) {
    struct source *source = &place->source;
    source->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (source->socket < 0) return false;
    if (bind_to(source->socket, &place->address)) {
        if (listen(source->socket, SOMAXCONN) == 0 && watch(source)) return true;
        unlink(place->address.sun_path);
    }
    close(source->socket);
    return false;
}

void hand_over_listen(struct hand_over *hand_over, const char *path) {
    struct place *place = calloc(1, sizeof *place);
    if (!place) return;
    place->source = (struct source){.ready = place_ready, .all = hand_over};
    errno = ENAMETOOLONG;
    if (hand_over_address(path, &place->address) && open_place(place)) {
        list_append(&hand_over->places, &place->source.link);
        shared_taker_came();
        hand_over->counts.is_open = true;
        return;
    }
    log_warn("no memory is handed over beside this Unix socket; tensors go through it as chunks",
             LOG_TEXT("listen", path), LOG_TEXT("why", strerror(errno)));
    free(place);
}

/* ---- the loop ---- */

/* Once: the next time is after the loop has looked. Asking for it tells also what came before. */
static bool ask_to_be_told(const struct hand_over *hand_over, int how) {
    struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = hand_over->ready};
    return epoll_ctl(hand_over->watched, how, hand_over->ready, &once) == 0;
}

static void look(struct hand_over *hand_over) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(hand_over->ready, events, EVENTS_AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        struct source *source = events[i].data.ptr;
        source->ready(source);
    }
    if (!ask_to_be_told(hand_over, EPOLL_CTL_MOD))
        log_error("no memory that is handed over is noticed any more", LOG_TEXT("why", strerror(errno)));
}

static void run_look(struct wake *wake) {
    look(container_of(wake, struct hand_over, look));
}

static void *watch_sockets(void *context) {
    struct hand_over *hand_over = context;
    prctl(PR_SET_NAME, "stagewire-hand");
    for (;;) {
        struct epoll_event event;
        if (epoll_wait(hand_over->watched, &event, 1, -1) < 1) continue;
        if (event.data.fd == hand_over->stop) return NULL;
        loop_wake(hand_over->loop, &hand_over->look);
    }
}

/* ---- what is asked ---- */

static int find(const struct hand_over *hand_over, uint64_t token) {
    list_each_safe(link, &((struct hand_over *)hand_over)->peers) {
        const struct peer *peer = container_of(link, struct peer, source.link);
        for (unsigned i = 0; i < peer->count; i++) {
            if (peer->pieces[i].token == token) return peer->pieces[i].fd;
        }
    }
    return -1;
}

/* It was sent before it was named, so it is there, though nobody may have told. */
int hand_over_find(struct hand_over *hand_over, uint64_t token) {
    if (!hand_over) return -1;
    int fd = find(hand_over, token);
    if (fd >= 0) return fd;
    look(hand_over);
    return find(hand_over, token);
}

static struct peer *find_name(struct hand_over *hand_over, uint64_t name) {
    list_each_safe(link, &hand_over->peers) {
        struct peer *peer = container_of(link, struct peer, source.link);
        if (peer->name == name) return peer;
    }
    return NULL;
}

uint64_t hand_over_to(struct hand_over *hand_over, uint64_t name, int fd) {
    if (!hand_over || name == 0) return 0;
    struct peer *peer = find_name(hand_over, name);
    if (!peer) look(hand_over);
    if (!peer) peer = find_name(hand_over, name);
    uint64_t token = hand_over_token();
    return peer && hand_over_send(peer->source.socket, HAND_OVER_MEMORY, token, fd) ? token : 0;
}

struct hand_over_info *hand_over_counts(struct hand_over *hand_over) {
    hand_over->counts.connections = hand_over->connections;
    hand_over->counts.waiting = hand_over->waiting;
    return &hand_over->counts;
}

/* ---- opening and closing ---- */

static bool watch_all(struct hand_over *hand_over) {
    hand_over->ready = epoll_create1(EPOLL_CLOEXEC);
    hand_over->watched = epoll_create1(EPOLL_CLOEXEC);
    hand_over->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event stop = {.events = EPOLLIN, .data.fd = hand_over->stop};
    return hand_over->ready >= 0 && hand_over->watched >= 0 && hand_over->stop >= 0 &&
           ask_to_be_told(hand_over, EPOLL_CTL_ADD) &&
           epoll_ctl(hand_over->watched, EPOLL_CTL_ADD, hand_over->stop, &stop) == 0;
}

static void free_all(struct hand_over *hand_over) {
    int const fds[] = {hand_over->ready, hand_over->watched, hand_over->stop};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (fds[i] >= 0) close(fds[i]);
    }
    free(hand_over);
}

sw_status hand_over_open(struct loop *loop, struct hand_over **ret, sw_error *error) {
    struct hand_over *hand_over = calloc(1, sizeof *hand_over);
    if (!hand_over) return error_no_memory(error);
    hand_over->loop = loop;
    hand_over->look.run = run_look;
    list_init(&hand_over->places);
    list_init(&hand_over->peers);
    if (watch_all(hand_over) && pthread_create(&hand_over->watcher, NULL, watch_sockets, hand_over) == 0) {
        *ret = hand_over;
        return SW_OK;
    }
    free_all(hand_over);
    return error_set_code(
        error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
        "no descriptor or no thread for handing memory over; raise the limits (ulimit -n, -u)");
}

static void close_place(struct place *place) {
    shared_taker_left();
    unlink(place->address.sun_path);
    close(place->source.socket);
    free(place);
}

void hand_over_stop(struct hand_over *hand_over) {
    if (!hand_over) return;
    eventfd_write(hand_over->stop, 1);
    pthread_join(hand_over->watcher, NULL);
}

void hand_over_close(struct hand_over *hand_over) {
    if (!hand_over) return;
    list_each_safe(link, &hand_over->peers) end_peer(container_of(link, struct peer, source.link));
    list_each_safe(link, &hand_over->places) close_place(container_of(link, struct place, source.link));
    free_all(hand_over);
}
