#include "tests/support/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES    (256u << 10)
#define CONNECTIONS_MAX 64
#define NEVER           UINT64_MAX

/* What goes one way in one connection. */
struct pipe_way {
    int from, to;
    uint8_t *data;
    size_t begin, end;
    bool is_closed; /* `from` has said its last */
    bool is_cut;    /* after what is in the buffer */
    bool is_shut;   /* cut, and `to` has been told: from there on, what it still says is thrown away */
};

struct connection {
    struct pipe_way ways[2];
};

struct relay {
    char target[128], upstream[128];
    int listener, wake;
    pthread_t thread;
    struct connection connections[CONNECTIONS_MAX];
    unsigned open;

    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_closing, stalls, refuses, cuts_all, has_turned, turns;
    unsigned connected;
    uint64_t bytes[2], cut_at[2];
    enum relay_way turn_way;
    uint8_t turn_value;
    size_t turn_run, turn_seen;
};

static void must(bool holds, const char *what) {
    if (holds) return;
    perror(what);
    abort();
}

/* ---- sockets ---- */

static int connect_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static int connect_tcp(const char *target) {
    char host[64];
    unsigned port;
    must(sscanf(target, "%63[^:]:%u", host, &port) == 2, target);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    must(inet_pton(AF_INET, host, &address.sin_addr) == 1, host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    must(fd >= 0, "socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static int connect_upstream(const char *upstream) {
    int fd = strncmp(upstream, "unix:", 5) == 0 ? connect_unix(upstream + 5) : connect_tcp(upstream);
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void listen_somewhere(struct relay *relay) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(relay->listener >= 0 && bind(relay->listener, (struct sockaddr *)&address, size) == 0 &&
             listen(relay->listener, 64) == 0 &&
             getsockname(relay->listener, (struct sockaddr *)&address, &size) == 0,
         "listen");
    snprintf(relay->target, sizeof relay->target, "127.0.0.1:%u", ntohs(address.sin_port));
}

/* ---- connections ---- */

static void drop(struct relay *relay, unsigned index) {
    struct connection *connection = &relay->connections[index];
    close(connection->ways[0].from);
    close(connection->ways[0].to);
    free(connection->ways[0].data);
    free(connection->ways[1].data);
    *connection = relay->connections[--relay->open];
}

static struct pipe_way make_way(int from, int to) {
    struct pipe_way way = {.from = from, .to = to, .data = malloc(BUFFER_BYTES)};
    must(way.data != NULL, "malloc");
    return way;
}

static void admit(struct relay *relay) {
    int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
    if (client < 0) return;
    int endpoint = relay->refuses || relay->open == CONNECTIONS_MAX ? -1 : connect_upstream(relay->upstream);
    if (endpoint < 0) {
        close(client);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *connection = &relay->connections[relay->open++];
    connection->ways[RELAY_TO_CLIENT] = make_way(endpoint, client);
    connection->ways[RELAY_TO_ENDPOINT] = make_way(client, endpoint);
    relay->connected++;
    pthread_cond_broadcast(&relay->moved);
}

static void maybe_turn(struct relay *relay, enum relay_way way, uint8_t *data, size_t size) {
    for (size_t i = 0; i < size && relay->turns && relay->turn_way == way; i++) {
        relay->turn_seen = data[i] == relay->turn_value ? relay->turn_seen + 1 : 0;
        if (relay->turn_seen < relay->turn_run) continue;
        data[i] ^= 1;
        relay->turns = false;
        relay->has_turned = true;
    }
}

static void fill(struct relay *relay, unsigned index, enum relay_way which) {
    struct pipe_way *way = &relay->connections[index].ways[which];
    ssize_t got = read(way->from, way->data + way->end, BUFFER_BYTES - way->end);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        way->is_closed = true;
        return;
    }
    if (relay->connections[index].ways[!which].is_shut) return;
    if (relay->bytes[which] + (uint64_t)got >= relay->cut_at[which]) {
        got = (ssize_t)(relay->cut_at[which] - relay->bytes[which]);
        relay->cut_at[which] = NEVER;
        way->is_cut = true;
    }
    maybe_turn(relay, which, way->data + way->end, (size_t)got);
    relay->bytes[which] += (uint64_t)got;
    way->end += (size_t)got;
    pthread_cond_broadcast(&relay->moved);
}

static void drain(struct pipe_way *way) {
    ssize_t put = send(way->to, way->data + way->begin, way->end - way->begin, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put < 0) {
        way->is_closed = true;
        way->end = way->begin = 0;
        return;
    }
    way->begin += (size_t)put;
    if (way->begin == way->end) way->begin = way->end = 0;
}

/* A cut is an end of the stream, and no reset, which would take back what was received and not yet read. */
static void shut_if_cut(struct pipe_way *way) {
    if (!way->is_cut || way->is_shut || way->begin != way->end) return;
    shutdown(way->to, SHUT_WR);
    way->is_shut = true;
}

static bool is_over(struct connection *connection) {
    bool is_over = false;
    for (int i = 0; i < 2; i++) {
        struct pipe_way *way = &connection->ways[i];
        shut_if_cut(way);
        if (way->begin == way->end && way->is_closed) is_over = true;
    }
    return is_over;
}

/* ---- the thread ---- */

static short wanted(const struct relay *relay, const struct pipe_way *reads, const struct pipe_way *writes) {
    if (relay->stalls) return 0;
    bool may_read = reads->end < BUFFER_BYTES && !reads->is_closed && !reads->is_cut;
    return (short)((may_read ? POLLIN : 0) | (writes->end > writes->begin ? POLLOUT : 0));
}

static unsigned list_polls(struct relay *relay, struct pollfd *polls) {
    unsigned count = 0;
    polls[count++] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
    for (unsigned i = 0; i < relay->open; i++) {
        struct pipe_way *ways = relay->connections[i].ways;
        for (int side = 0; side < 2; side++) {
            short events = wanted(relay, &ways[side], &ways[!side]);
            polls[count++] = (struct pollfd){.fd = events ? ways[side].from : -1, .events = events};
        }
    }
    return count;
}

static void move(struct relay *relay, const struct pollfd *polls, unsigned count) {
    for (unsigned i = 2; i < count; i++) {
        struct pipe_way *ways = relay->connections[(i - 2) / 2].ways;
        int side = (i - 2) % 2;
        if (polls[i].revents & (POLLIN | POLLHUP | POLLERR)) fill(relay, (i - 2) / 2, (enum relay_way)side);
        if (polls[i].revents & POLLOUT) drain(&ways[!side]);
    }
}

static void drop_ended(struct relay *relay) {
    for (unsigned i = relay->open; i-- > 0;)
        if (relay->cuts_all || is_over(&relay->connections[i])) drop(relay, i);
    relay->cuts_all = false;
}

static void *run(void *context) {
    struct relay *relay = context;
    struct pollfd polls[2 + 2 * CONNECTIONS_MAX];
    pthread_mutex_lock(&relay->lock);
    while (!relay->is_closing) {
        unsigned count = list_polls(relay, polls);
        pthread_mutex_unlock(&relay->lock);
        poll(polls, count, -1);
        pthread_mutex_lock(&relay->lock);
        eventfd_t ignored;
        if (polls[0].revents) eventfd_read(relay->wake, &ignored);
        if (!relay->stalls) move(relay, polls, count);
        drop_ended(relay);
        if (polls[1].revents) admit(relay);
    }
    pthread_mutex_unlock(&relay->lock);
    while (relay->open > 0) drop(relay, relay->open - 1);
    return NULL;
}

/* ---- from the test ---- */

struct relay *relay_open(const char *target) {
    struct relay *relay = calloc(1, sizeof *relay);
    must(relay != NULL, "calloc");
    snprintf(relay->upstream, sizeof relay->upstream, "%s", target);
    listen_somewhere(relay);
    relay->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(relay->wake >= 0, "eventfd");
    relay->cut_at[0] = relay->cut_at[1] = NEVER;
    pthread_mutex_init(&relay->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&relay->moved, &attributes);
    pthread_condattr_destroy(&attributes);
    must(pthread_create(&relay->thread, NULL, run, relay) == 0, "pthread_create");
    return relay;
}

static void lock(struct relay *relay) {
    pthread_mutex_lock(&relay->lock);
}

static void unlock_and_tell(struct relay *relay) {
    eventfd_write(relay->wake, 1);
    pthread_mutex_unlock(&relay->lock);
}

void relay_close(struct relay *relay) {
    if (!relay) return;
    lock(relay);
    relay->is_closing = true;
    unlock_and_tell(relay);
    pthread_join(relay->thread, NULL);
    close(relay->listener);
    close(relay->wake);
    pthread_cond_destroy(&relay->moved);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}

const char *relay_target(const struct relay *relay) {
    return relay->target;
}

void relay_cut_after(struct relay *relay, enum relay_way way, uint64_t bytes) {
    lock(relay);
    relay->cut_at[way] = relay->bytes[way] + bytes;
    unlock_and_tell(relay);
}

void relay_cut(struct relay *relay) {
    lock(relay);
    relay->cuts_all = true;
    unlock_and_tell(relay);
}

void relay_turn_bit(struct relay *relay, enum relay_way way, uint8_t value, size_t run_length) {
    lock(relay);
    relay->turns = true;
    relay->turn_way = way;
    relay->turn_value = value;
    relay->turn_run = run_length;
    relay->turn_seen = 0;
    unlock_and_tell(relay);
}

bool relay_has_turned(struct relay *relay) {
    lock(relay);
    bool has_turned = relay->has_turned;
    pthread_mutex_unlock(&relay->lock);
    return has_turned;
}

void relay_stall(struct relay *relay, bool stalls) {
    lock(relay);
    relay->stalls = stalls;
    unlock_and_tell(relay);
}

void relay_refuse(struct relay *relay, bool refuses) {
    lock(relay);
    relay->refuses = refuses;
    unlock_and_tell(relay);
}

uint64_t relay_bytes(struct relay *relay, enum relay_way way) {
    lock(relay);
    uint64_t bytes = relay->bytes[way];
    pthread_mutex_unlock(&relay->lock);
    return bytes;
}

unsigned relay_connections(struct relay *relay) {
    lock(relay);
    unsigned connected = relay->connected;
    pthread_mutex_unlock(&relay->lock);
    return connected;
}

static struct timespec moment_in(int timeout_ms) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_sec += timeout_ms / 1000;
    moment.tv_nsec += timeout_ms % 1000 * 1000000;
    if (moment.tv_nsec >= 1000000000) {
        moment.tv_sec++;
        moment.tv_nsec -= 1000000000;
    }
    return moment;
}

bool relay_wait_for_bytes(struct relay *relay, enum relay_way way, uint64_t bytes, int timeout_ms) {
    struct timespec until = moment_in(timeout_ms);
    int waited = 0;
    lock(relay);
    while (relay->bytes[way] < bytes && waited == 0)
        waited = pthread_cond_timedwait(&relay->moved, &relay->lock, &until);
    bool have = relay->bytes[way] >= bytes;
    pthread_mutex_unlock(&relay->lock);
    return have;
}

bool relay_wait_for_connections(struct relay *relay, unsigned connections, int timeout_ms) {
    struct timespec until = moment_in(timeout_ms);
    int waited = 0;
    lock(relay);
    while (relay->connected < connections && waited == 0)
        waited = pthread_cond_timedwait(&relay->moved, &relay->lock, &until);
    bool have = relay->connected >= connections;
    pthread_mutex_unlock(&relay->lock);
    return have;
}
