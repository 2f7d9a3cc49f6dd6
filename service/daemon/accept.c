#include "service/daemon/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/log.h"
#include "proto/base/log_rate.h"
#include "proto/device/shared.h"

/* For everything that is no connection: gRPC's own, logs, certificates. */
#define DESCRIPTORS_KEPT 64
#define DESCRIPTORS_MAX  (1u << 20)

#define INTERPOSE __attribute__((visibility("default")))

/* ---- a descriptor that is given up to close a connection when there is none left ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int spare = -1;

static void take_spare(void) {
    if (spare < 0) spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void give_up_spare(void) {
    if (spare >= 0) syscall(SYS_close, spare);
    spare = -1;
}

struct peer {
    struct sockaddr_storage address;
    socklen_t size;
};

static int accept_from_kernel(int listener, struct peer *peer, int flags) {
    memset(&peer->address, 0, sizeof peer->address);
    peer->size = sizeof peer->address;
    return (int)syscall(SYS_accept4, listener, &peer->address, &peer->size, flags);
}

/* False where not even that works: then it stays in the queue until the next one comes. */
static bool turn_away_one(int listener) {
    struct peer peer;
    pthread_mutex_lock(&mutex);
    give_up_spare();
    int connection = accept_from_kernel(listener, &peer, SOCK_CLOEXEC);
    if (connection >= 0) syscall(SYS_close, connection);
    take_spare();
    pthread_mutex_unlock(&mutex);
    return connection >= 0;
}

/* ---- telling ---- */

static struct log_rate told;

static void tell(const char *event) {
    uint64_t left_out;
    if (!log_rate_allows(&told, clock_now_ms(&clock_system), &left_out)) return;
    log_warn(event, LOG_NUMBER("connections", connections_count()), LOG_NUMBER("not_logged", left_out));
}

/* ---- accepting ---- */

enum accepted { ACCEPTED, TRY_AGAIN, NONE_LEFT, BROKEN };

static enum accepted accept_one(int listener, int flags, struct peer *peer, int *ret) {
    int connection = accept_from_kernel(listener, peer, flags);
    if (connection >= 0 && connections_admit(connection, &peer->address)) {
        *ret = connection;
        return ACCEPTED;
    }
    if (connection >= 0) {
        syscall(SYS_close, connection);
        tell("a connection was closed: there are too many, in all or of its address");
        return TRY_AGAIN;
    }
    switch (errno) {
    case EAGAIN:
        return NONE_LEFT;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        tell("a connection was closed: no descriptor is left, or no memory");
        return turn_away_one(listener) ? TRY_AGAIN : NONE_LEFT;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EFAULT:
        return BROKEN;
    default: /* of that one connection: accept(2) says to go on */
        return TRY_AGAIN;
    }
}

INTERPOSE int accept4(int listener, struct sockaddr *restrict address, socklen_t *restrict size, int flags) {
    struct peer peer;
    int connection;
    enum accepted what;
    do {
        what = accept_one(listener, flags, &peer, &connection);
    } while (what == TRY_AGAIN);
    if (what == NONE_LEFT) errno = EAGAIN;
    if (what != ACCEPTED) return -1;
    if (address) {
        memcpy(address, &peer.address, *size < peer.size ? *size : peer.size);
        *size = peer.size;
    }
    return connection;
}

INTERPOSE int close(int descriptor) {
    connections_leave(descriptor);
    return (int)syscall(SYS_close, descriptor);
}

/* ---- beginning ---- */

static uint32_t descriptors(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > DESCRIPTORS_MAX) return DESCRIPTORS_MAX;
    return (uint32_t)files.rlim_cur;
}

static uint32_t room_for_connections(uint32_t all) {
    uint32_t kept = DESCRIPTORS_KEPT + CONNECTIONS_LOCAL + LIMIT_HANDED_OVER_ALL + shared_most();
    return all > 2 * kept ? all - kept : all / 2;
}

sw_status accept_begin(struct connections_limits limits, sw_error *error) {
    uint32_t all = descriptors(), room = room_for_connections(all);
    take_spare();
    if (limits.all > room) {
        log_warn("fewer connections than allowed: there are too few descriptors; raise the limit (ulimit -n, "
                 "LimitNOFILE=)",
                 LOG_NUMBER("descriptors", all), LOG_NUMBER("connections", room),
                 LOG_NUMBER("max_connections", limits.all));
        limits.all = room;
    }
    if (connections_begin(limits, all)) return SW_OK;
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory to count connections");
}
