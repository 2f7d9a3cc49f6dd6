#include "client/cli/doctor/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "proto/base/clock.h"

static enum wire_end failed(struct wire *wire, int error) {
    wire->error = error;
    return error == ECONNRESET || error == EPIPE ? WIRE_CLOSED : WIRE_FAILED;
}

static enum wire_end wait_for(struct wire *wire, short events, int64_t deadline_ms) {
    for (;;) {
        int64_t left = deadline_ms - clock_now_ms(&clock_system);
        if (left <= 0) return WIRE_TIMED_OUT;
        struct pollfd one = {.fd = wire->fd, .events = events};
        int ready = poll(&one, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (ready > 0) return WIRE_OK;
        if (ready < 0 && errno != EINTR) return failed(wire, errno);
    }
}

enum wire_end wire_connect(struct wire *wire, const struct sockaddr *address, socklen_t size,
                           int64_t deadline_ms) {
    *wire = (struct wire){.fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (wire->fd < 0) return failed(wire, errno);
    if (address->sa_family != AF_UNIX) /* else a ping would wait for an acknowledgement */
        setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(wire->fd, address, size) == 0) return WIRE_OK;
    if (errno != EINPROGRESS) {
        wire->error = errno;
        return WIRE_FAILED;
    }
    enum wire_end end = wait_for(wire, POLLOUT, deadline_ms);
    int error = 0;
    socklen_t room = sizeof error;
    if (end != WIRE_OK) return end;
    if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &room) != 0) error = errno;
    wire->error = error;
    return error == 0 ? WIRE_OK : WIRE_FAILED;
}

void wire_close(struct wire *wire) {
    SSL_free(wire->ssl);
    if (wire->fd >= 0) close(wire->fd);
    *wire = (struct wire){.fd = -1};
}

enum wire_end wire_readable(struct wire *wire, int64_t deadline_ms) {
    return wait_for(wire, POLLIN, deadline_ms);
}

enum wire_end wire_peek(struct wire *wire, void *bytes, size_t room, size_t *ret_size, int64_t deadline_ms) {
    enum wire_end end = wire_readable(wire, deadline_ms);
    if (end != WIRE_OK) return end;
    ssize_t got = recv(wire->fd, bytes, room, MSG_PEEK);
    if (got == 0) return WIRE_CLOSED;
    if (got < 0) return failed(wire, errno);
    *ret_size = (size_t)got;
    return WIRE_OK;
}

/* ---- TLS ---- */

/* What OpenSSL's last call wants; WIRE_OK: to be called again. */
static enum wire_end after_tls(struct wire *wire, int result, int64_t deadline_ms) {
    int error = errno;
    switch (SSL_get_error(wire->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(wire, POLLIN, deadline_ms);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(wire, POLLOUT, deadline_ms);
    case SSL_ERROR_ZERO_RETURN:
        return WIRE_CLOSED;
    case SSL_ERROR_SYSCALL:
        return error == 0 ? WIRE_CLOSED : failed(wire, error);
    default:
        if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return WIRE_CLOSED;
        return WIRE_FAILED;
    }
}

enum wire_end wire_handshake(struct wire *wire, SSL *ssl, int64_t deadline_ms) {
    wire->ssl = ssl;
    SSL_set_fd(ssl, wire->fd);
    for (;;) {
        ERR_clear_error();
        errno = 0;
        int result = SSL_connect(ssl);
        if (result == 1) return WIRE_OK;
        enum wire_end end = after_tls(wire, result, deadline_ms);
        if (end != WIRE_OK) return end;
    }
}

/* ---- bytes ---- */

static enum wire_end after_plain(struct wire *wire, short events, int64_t deadline_ms) {
    if (errno == EAGAIN) return wait_for(wire, events, deadline_ms);
    return errno == EINTR ? WIRE_OK : failed(wire, errno);
}

enum wire_end wire_write(struct wire *wire, const void *bytes, size_t size, int64_t deadline_ms) {
    const char *at = bytes;
    while (size > 0) {
        ERR_clear_error();
        errno = 0;
        ssize_t put =
            wire->ssl ? SSL_write(wire->ssl, at, (int)size) : send(wire->fd, at, size, MSG_NOSIGNAL);
        if (put > 0) {
            at += put;
            size -= (size_t)put;
            continue;
        }
        enum wire_end end =
            wire->ssl ? after_tls(wire, (int)put, deadline_ms) : after_plain(wire, POLLOUT, deadline_ms);
        if (end != WIRE_OK) return end;
    }
    return WIRE_OK;
}

enum wire_end wire_read(struct wire *wire, void *bytes, size_t size, int64_t deadline_ms) {
    char *at = bytes;
    while (size > 0) {
        ERR_clear_error();
        errno = 0;
        ssize_t got = wire->ssl ? SSL_read(wire->ssl, at, (int)size) : recv(wire->fd, at, size, 0);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
            continue;
        }
        if (got == 0 && !wire->ssl) return WIRE_CLOSED;
        enum wire_end end =
            wire->ssl ? after_tls(wire, (int)got, deadline_ms) : after_plain(wire, POLLIN, deadline_ms);
        if (end != WIRE_OK) return end;
    }
    return WIRE_OK;
}

const char *wire_why(const struct wire *wire) {
    if (wire->error != 0) return strerror(wire->error);
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    return why ? why : "no reason is known";
}

int wire_alert(void) {
    unsigned long error = ERR_peek_last_error();
    int reason = ERR_GET_REASON(error);
    bool is_alert = ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET;
    return is_alert ? reason - SSL_AD_REASON_OFFSET : -1;
}
