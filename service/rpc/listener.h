/* Where an endpoint is reached: "HOST:PORT" or "unix:PATH", what class that is, and binding it. Any thread.
 */
#ifndef STAGEWIRE_SERVICE_LISTENER_H
#define STAGEWIRE_SERVICE_LISTENER_H

#include <stdbool.h>

#include <grpc/grpc.h>

#include <stagewire/status.h>

#include "proto/transport/grpc_compat.h"

enum listener_class {
    LISTENER_UNIX,
    LISTENER_LOOPBACK, /* every address that the name has is this machine's alone */
    LISTENER_OTHER,
    LISTENER_HEALTH, /* for probes: plaintext wherever it is, and serves nothing but health */
    LISTENER_CLASSES,
};

/* Bytes of "unix:" and a path that a socket can have, or of HOST:PORT. */
#define LISTENER_NAME_MAX 300

struct listener {
    enum listener_class class;
    char name[LISTENER_NAME_MAX]; /* as a client names it; the port is the bound one */
    const char *path;             /* of a Unix socket, in `name` */
    int lock;                     /* of a Unix socket */
    bool bound;
    struct grpc_compat_tls tls; /* what it shows, if it isn't plaintext */
};

/* INVALID_ARGUMENT for what is no address, and for one beyond this machine unless `anywhere` (it will speak
 * TLS, or plaintext is allowed there); UNAVAILABLE for a host that cannot be resolved. */
sw_status listener_parse(const char *text, bool anywhere, struct listener *ret, sw_error *error);

/* HOST:PORT for probes, which may be beyond this machine. Errors as above. */
sw_status listener_parse_for_probes(const char *text, struct listener *ret, sw_error *error);

/* With `tls`, which must outlive the server, a TCP listener speaks TLS alone; Unix sockets and
 * LISTENER_HEALTH are always plaintext. UNAVAILABLE where it cannot be bound, and why. */
sw_status listener_bind(struct listener *listener, grpc_server *server, struct tls_source *tls,
                        sw_error *error);

/* Removes a Unix socket. Fine if it was not bound. */
void listener_close(struct listener *listener);

#endif
