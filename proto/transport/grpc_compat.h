/* What differs between versions of gRPC core: here, and nowhere else. */
#ifndef STAGEWIRE_TRANSPORT_GRPC_COMPAT_H
#define STAGEWIRE_TRANSPORT_GRPC_COMPAT_H

#include <stdint.h>

#include <grpc/grpc.h>

struct tls_identity;
struct tls_source;

/* A plaintext channel to `target` ("HOST:PORT" or "unix:PATH"); never NULL. */
grpc_channel *grpc_compat_channel(const char *target, const grpc_channel_args *args);

/* A channel that shows `identity` and takes a server only if one of its CAs issued the server's certificate,
 * it isn't revoked, and it is for `expected` (peer_names_check). Never NULL. Takes a reference of `identity`
 * of its own. */
grpc_channel *grpc_compat_tls_channel(const char *target, const grpc_channel_args *args,
                                      struct tls_identity *identity, const char *expected);

/* A channel whose calls fail at once; never NULL. */
grpc_channel *grpc_compat_lame_channel(void);

/* What a listener shows: each handshake takes what the source has by then. A client must show a certificate
 * that one of the source's CAs issued. `seen` begins at 0; it stays where it is until the server is
 * destroyed, and the source with it. */
struct grpc_compat_tls {
    struct tls_source *source; /* NULL: plaintext */
    uint64_t seen;
};

/* Binds a listener; 0 if it cannot be bound, 1 for a Unix socket, else the port. */
int grpc_compat_listen(grpc_server *server, const char *address, struct grpc_compat_tls *tls);

/* TLS 1.3 only, for this process: 1.2 is left without a suite that it could use. Before anything else of
 * gRPC; a process's environment is its owner's, so the library never does it. An owner who has set
 * GRPC_SSL_CIPHER_SUITES is left alone. */
void grpc_compat_tls13_only(void);

/* What gRPC has to say goes to our own log. Once a process; again is fine. */
void grpc_compat_log_to_ours(void);

/* The plain text of gRPC's version. */
const char *grpc_compat_version(void);

#endif
