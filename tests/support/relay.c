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
#define PARCELS_MAX     64
#define NEVER           UINT64_MAX

/* Bytes that came at once, and when they may go on. */
struct parcel {
    size_t size;
    int64_t due_ms;
};

/* What goes one way in one connection. */
struct pipe_way {
    int from, to;
    uint8_t *data;
    size_t begin, end;
    struct parcel parcels[PARCELS_MAX]; /* of data[begin, end) */
    unsigned parcel_count;
    bool is_closed;      /* `from` has said its last */
    bool is_cut;         /* after what is in the buffer, and then what `to` still says is thrown away */
    bool is_half_closed; /* the same, but `to` is still listened to, and `from` no more */
    bool is_shut;        /* `to` has been told of either */
    bool is_stalled;
};

struct connection {
    struct pipe_way ways[2];
    int shadow; /* where the endpoint hears the client a second time, or -1 */
    bool is_reset;
};

struct relay {
    char target[128], upstream[128];
    int listener, wake;
    pthread_t thread;
    struct connection connections[CONNECTIONS_MAX];
    unsigned open;

    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool is_closing, refuses, ignores, duplicates, cuts_all, has_turned, turns;
    bool stalls[2], half_closes[2], cut_resets[2], resets_all;
    int64_t delay_ms[2];
    unsigned connected;
    uint64_t bytes[2], cut_at[2], stall_at[2];
    enum relay_way turn_way;
    uint8_t turn_value;
    size_t turn_run, turn_seen;
};

static void must(bool holds, const char *what) {
    if (holds) return;
    perror(what);
    abort();
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
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

/* Closing then sends a reset. */
static void linger_not(int fd) {
    struct linger none = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

static void drop_shadow(struct connection *connection) {
    if (connection->shadow >= 0) close(connection->shadow);
    connection->shadow = -1;
}

static void drop(struct relay *relay, unsigned index) {
    struct connection *connection = &relay->connections[index];
    if (connection->is_reset) {
        linger_not(connection->ways[0].from);
        linger_not(connection->ways[0].to);
    }
    drop_shadow(connection);
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
    connection->is_reset = false;
    connection->shadow = relay->duplicates ? connect_upstream(relay->upstream) : -1;
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

/* How much of what was read still goes on. */
static size_t up_to_the_cut(struct relay *relay, struct connection *connection, enum relay_way which,
                            size_t got) {
    if (relay->bytes[which] + got < relay->cut_at[which]) return got;
    got = (size_t)(relay->cut_at[which] - relay->bytes[which]);
    relay->cut_at[which] = NEVER;
    connection->ways[which].is_cut = true;
    connection->is_reset = relay->cut_resets[which];
    return got;
}

static void say_twice(struct connection *connection, const uint8_t *data, size_t size) {
    if (connection->shadow < 0) return;
    if (send(connection->shadow, data, size, MSG_NOSIGNAL) != (ssize_t)size) drop_shadow(connection);
}

static bool nobody_listens(const struct connection *connection, enum relay_way which) {
    const struct pipe_way *back = &connection->ways[!which];
    return connection->ways[which].is_half_closed || (back->is_cut && back->is_shut);
}

static void fill(struct relay *relay, struct connection *connection, enum relay_way which) {
    struct pipe_way *way = &connection->ways[which];
    uint8_t *data = way->data + way->end;
    ssize_t got = read(way->from, data, BUFFER_BYTES - way->end);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        way->is_closed = true;
        return;
    }
    if (nobody_listens(connection, which)) return;
    size_t size = up_to_the_cut(relay, connection, which, (size_t)got);
    maybe_turn(relay, which, data, size);
    if (which == RELAY_TO_ENDPOINT) say_twice(connection, data, size);
    relay->bytes[which] += size;
    if (relay->bytes[which] >= relay->stall_at[which]) {
        relay->stall_at[which] = NEVER;
        way->is_stalled = true;
    }
    way->end += size;
    if (size > 0)
        way->parcels[way->parcel_count++] = (struct parcel){size, now_ms() + relay->delay_ms[which]};
    pthread_cond_broadcast(&relay->moved);
}

static size_t due_bytes(const struct pipe_way *way, int64_t now) {
    size_t due = 0;
    for (unsigned i = 0; i < way->parcel_count && way->parcels[i].due_ms <= now; i++)
        due += way->parcels[i].size;
    return due;
}

static void empty(struct pipe_way *way) {
    way->begin = way->end = way->parcel_count = 0;
}

static void take_from_parcels(struct pipe_way *way, size_t size) {
    unsigned gone = 0;
    for (; size > 0 && size >= way->parcels[gone].size; gone++) size -= way->parcels[gone].size;
    way->parcel_count -= gone;
    memmove(way->parcels, way->parcels + gone, way->parcel_count * sizeof *way->parcels);
    if (way->parcel_count > 0) way->parcels[0].size -= size;
}

static void drain(struct pipe_way *way) {
    size_t due = due_bytes(way, now_ms());
    if (due == 0) return;
    ssize_t put = send(way->to, way->data + way->begin, due, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put < 0) {
        way->is_closed = true;
        empty(way);
        return;
    }
    way->begin += (size_t)put;
    take_from_parcels(way, (size_t)put);
    if (way->begin == way->end) empty(way);
}

static void discard(struct connection *connection) {
    uint8_t nothing[4096];
    ssize_t got = read(connection->shadow, nothing, sizeof nothing);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) drop_shadow(connection);
}

/* A cut is an end of the stream, and no reset, which would take back what was received and not yet read. */
static void shut_if_cut(struct pipe_way *way) {
    if (!(way->is_cut || way->is_half_closed) || way->is_shut || way->begin != way->end) return;
    shutdown(way->to, SHUT_WR);
    way->is_shut = true;
}

static bool is_over(struct connection *connection) {
    bool is_over = false;
    for (int i = 0; i < 2; i++) {
        struct pipe_way *way = &connection->ways[i];
        if (way->is_cut && connection->is_reset && way->begin == way->end) return true;
        shut_if_cut(way);
        if (way->begin == way->end && way->is_closed) is_over = true;
    }
    return is_over;
}

/* ---- the thread ---- */

enum { POLLS_A_CONNECTION = 3 };

/* What to wait for at `way->from`, which is where `back` goes to. */
static short wanted(const struct relay *relay, const struct connection *connection, enum relay_way which,
                    int64_t now) {
    const struct pipe_way *way = &connection->ways[which], *back = &connection->ways[!which];
    bool may_read = !relay->stalls[which] && !way->is_stalled && way->end < BUFFER_BYTES &&
                    way->parcel_count < PARCELS_MAX && !way->is_closed && !way->is_cut;
    bool may_write = !relay->stalls[!which] && due_bytes(back, now) > 0;
    return (short)((may_read ? POLLIN : 0) | (may_write ? POLLOUT : 0));
}

static unsigned list_polls(struct relay *relay, struct pollfd *polls) {
    int64_t now = now_ms();
    unsigned count = 0;
    polls[count++] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
    polls[count++] = (struct pollfd){.fd = relay->ignores ? -1 : relay->listener, .events = POLLIN};
    for (unsigned i = 0; i < relay->open; i++) {
        struct connection *connection = &relay->connections[i];
        for (int side = 0; side < 2; side++) {
            short events = wanted(relay, connection, (enum relay_way)side, now);
            polls[count++] =
                (struct pollfd){.fd = events ? connection->ways[side].from : -1, .events = events};
        }
        polls[count++] = (struct pollfd){.fd = connection->shadow, .events = POLLIN};
    }
    return count;
}

/* How long until the next parcel is due; -1 if none is on its way. */
static int until_due(const struct relay *relay) {
    int64_t now = now_ms(), due = INT64_MAX;
    for (unsigned i = 0; i < relay->open; i++) {
        for (int side = 0; side < 2; side++) {
            const struct pipe_way *way = &relay->connections[i].ways[side];
            if (way->parcel_count == 0 || relay->stalls[side]) continue;
            int64_t first = way->parcels[0].due_ms;
            if (first > now && first < due) due = first;
        }
    }
    return due == INT64_MAX ? -1 : (int)(due - now);
}

/* What was asked of the relay while it waited counts: what is stalled since then moves no more. */
static void move(struct relay *relay, const struct pollfd *polls, unsigned count) {
    int64_t now = now_ms();
    for (unsigned i = 2; i < count; i++) {
        struct connection *connection = &relay->connections[(i - 2) / POLLS_A_CONNECTION];
        unsigned side = (i - 2) % POLLS_A_CONNECTION;
        if (side == 2) {
            if (polls[i].revents && connection->shadow >= 0) discard(connection);
            continue;
        }
        short still = polls[i].events & wanted(relay, connection, (enum relay_way)side, now);
        if ((still & POLLIN) && (polls[i].revents & (POLLIN | POLLHUP | POLLERR)))
            fill(relay, connection, (enum relay_way)side);
        if (polls[i].revents & ((still & POLLOUT) | POLLERR)) drain(&connection->ways[!side]);
    }
}

static void half_close(struct relay *relay) {
    for (int side = 0; side < 2; side++) {
        for (unsigned i = 0; relay->half_closes[side] && i < relay->open; i++)
            relay->connections[i].ways[side].is_half_closed = true;
        relay->half_closes[side] = false;
    }
}

static void drop_ended(struct relay *relay) {
    for (unsigned i = relay->open; i-- > 0;) {
        bool ended = is_over(&relay->connections[i]);
        if (relay->resets_all) relay->connections[i].is_reset = true;
        if (ended || relay->cuts_all || relay->resets_all) drop(relay, i);
    }
    relay->cuts_all = relay->resets_all = false;
}

static void *run(void *context) {
    struct relay *relay = context;
    struct pollfd polls[2 + POLLS_A_CONNECTION * CONNECTIONS_MAX];
    pthread_mutex_lock(&relay->lock);
    while (!relay->is_closing) {
        unsigned count = list_polls(relay, polls);
        int timeout_ms = until_due(relay);
        pthread_mutex_unlock(&relay->lock);
        poll(polls, count, timeout_ms);
        pthread_mutex_lock(&relay->lock);
        eventfd_t ignored;
        if (polls[0].revents) eventfd_read(relay->wake, &ignored);
        if (!relay->cuts_all && !relay->resets_all) move(relay, polls, count);
        half_close(relay);
        drop_ended(relay);
        if (polls[1].revents && !relay->ignores) admit(relay);
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
    relay->cut_at[0] = relay->cut_at[1] = relay->stall_at[0] = relay->stall_at[1] = NEVER;
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

void relay_retarget(struct relay *relay, const char *target) {
    lock(relay);
    snprintf(relay->upstream, sizeof relay->upstream, "%s", target);
    unlock_and_tell(relay);
}

static void end_after(struct relay *relay, enum relay_way way, uint64_t bytes, bool resets) {
    lock(relay);
    relay->cut_at[way] = relay->bytes[way] + bytes;
    relay->cut_resets[way] = resets;
    unlock_and_tell(relay);
}

void relay_cut_after(struct relay *relay, enum relay_way way, uint64_t bytes) {
    end_after(relay, way, bytes, false);
}

void relay_reset_after(struct relay *relay, enum relay_way way, uint64_t bytes) {
    end_after(relay, way, bytes, true);
}

void relay_stall_after(struct relay *relay, enum relay_way way, uint64_t bytes) {
    lock(relay);
    relay->stall_at[way] = relay->bytes[way] + bytes;
    unlock_and_tell(relay);
}

void relay_cut(struct relay *relay) {
    lock(relay);
    relay->cuts_all = true;
    unlock_and_tell(relay);
}

void relay_reset(struct relay *relay) {
    lock(relay);
    relay->resets_all = true;
    unlock_and_tell(relay);
}

void relay_half_close(struct relay *relay, enum relay_way way) {
    lock(relay);
    relay->half_closes[way] = true;
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

void relay_stall_way(struct relay *relay, enum relay_way way, bool stalls) {
    lock(relay);
    relay->stalls[way] = stalls;
    unlock_and_tell(relay);
}

void relay_stall(struct relay *relay, bool stalls) {
    relay_stall_way(relay, RELAY_TO_CLIENT, stalls);
    relay_stall_way(relay, RELAY_TO_ENDPOINT, stalls);
}

void relay_delay(struct relay *relay, enum relay_way way, int64_t delay_ms) {
    lock(relay);
    relay->delay_ms[way] = delay_ms;
    unlock_and_tell(relay);
}

void relay_refuse(struct relay *relay, bool refuses) {
    lock(relay);
    relay->refuses = refuses;
    unlock_and_tell(relay);
}

void relay_ignore(struct relay *relay, bool ignores) {
    lock(relay);
    relay->ignores = ignores;
    unlock_and_tell(relay);
}

void relay_duplicate(struct relay *relay, bool duplicates) {
    lock(relay);
    relay->duplicates = duplicates;
    unlock_and_tell(relay);
}

void relay_heal(struct relay *relay) {
    lock(relay);
    relay->refuses = relay->ignores = relay->duplicates = relay->turns = false;
    for (int way = 0; way < 2; way++) {
        relay->stalls[way] = false;
        relay->delay_ms[way] = 0;
        relay->cut_at[way] = relay->stall_at[way] = NEVER;
    }
    for (unsigned i = 0; i < relay->open; i++)
        for (int way = 0; way < 2; way++) relay->connections[i].ways[way].is_stalled = false;
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
