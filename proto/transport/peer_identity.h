/* Who the peer of a connection is, from what its handshake left: one SPIFFE id, or else its DNS names. */
#ifndef STAGEWIRE_TRANSPORT_PEER_IDENTITY_H
#define STAGEWIRE_TRANSPORT_PEER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include <grpc/grpc_security.h>

#include <stagewire/status.h>

#include "proto/transport/peer_name.h"
#include "proto/transport/tls_identity.h"

#define PEER_IDENTITY_BYTES 4096

struct peer_identity {
    char
        names[PEER_IDENTITY_BYTES]; /* each with its NUL, then an empty one; the first is what it is called */
    uint32_t count;
    const char *pem; /* its certificate; lives as long as the context */
};

/* Of a TLS connection's context. UNAUTHENTICATED, with why, for a certificate that names nobody: several URI
 * names, one that is no SPIFFE id, neither URI nor DNS name. Next to a SPIFFE id DNS names don't count, and
 * wildcards never do. Any thread. */
sw_status peer_identity_read(const grpc_auth_context *context, struct peer_identity *ret, sw_error *error);

/* The name after `name`, or NULL; NULL: the first. */
const char *peer_identity_next(const struct peer_identity *identity, const char *name);

/* Whether the connection came by TLS with a certificate that was checked: not so for plaintext. */
bool peer_used_tls(const grpc_auth_context *context);

/* The client's check of a server, of the names in its certificate. UNAUTHENTICATED says what was expected and
 * what is there. `expected`: "spiffe://…", which must be its only URI name, else the host that was asked for,
 * a DNS name or an IP address. */
struct peer_names {
    const char *const *uris, *const *dns, *const *ips;
    size_t uri_count, dns_count, ip_count;
};
sw_status peer_names_check(const struct peer_names *names, const char *expected, sw_error *error);

#endif
