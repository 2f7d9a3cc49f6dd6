/* A connected socket, plain or in TLS, on which no wait is without an end. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_WIRE_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <openssl/ssl.h>

enum wire_end {
    WIRE_OK,
    WIRE_CLOSED,    /* by the peer, in order or by a reset */
    WIRE_TIMED_OUT, /* the deadline passed */
    WIRE_FAILED,    /* wire->error or, in TLS, OpenSSL's queue has why */
};

struct wire {
    int fd; /* not blocking; -1: none */
    SSL *ssl;
    int error; /* errno's number */
};

/* Deadlines are of clock_system's monotonic milliseconds. */
enum wire_end wire_connect(struct wire *wire, const struct sockaddr *address, socklen_t size,
                           int64_t deadline_ms);
void wire_close(struct wire *wire); /* takes one that is closed */

/* Waits until there is something to read, without reading it. */
enum wire_end wire_readable(struct wire *wire, int64_t deadline_ms);
/* What the peer said first, at most `room` bytes, left where it is. Of the socket itself, also in TLS. */
enum wire_end wire_peek(struct wire *wire, void *bytes, size_t room, size_t *ret_size, int64_t deadline_ms);

/* Takes over the SSL, which wire_close frees. */
enum wire_end wire_handshake(struct wire *wire, SSL *ssl, int64_t deadline_ms);

/* All of it. */
enum wire_end wire_write(struct wire *wire, const void *bytes, size_t size, int64_t deadline_ms);
enum wire_end wire_read(struct wire *wire, void *bytes, size_t size, int64_t deadline_ms);

/* OpenSSL's own words for what failed last, or errno's. Valid until the next call. */
const char *wire_why(const struct wire *wire);
/* The number of the TLS alert that the peer sent, or -1. Looks at OpenSSL's queue. */
int wire_alert(void);

#endif
