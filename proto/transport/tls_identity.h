/* Who this process is on the network, and whom it trusts: key, certificate, CAs and revocation lists, checked
 * to fit together. Immutable and counted; any thread.
 *
 * Needs OpenSSL only. */
#ifndef STAGEWIRE_TRANSPORT_TLS_IDENTITY_H
#define STAGEWIRE_TRANSPORT_TLS_IDENTITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/status.h>

#include "proto/transport/tls_files.h"

/* What the own certificate must be good for. */
enum tls_role { TLS_SERVER, TLS_CLIENT };

struct tls_trust;

struct tls_identity {
    char *key_pem, *chain_pem, *roots_pem; /* as gRPC takes them; the chain from the own certificate up */
    char *name;                            /* whose: the SPIFFE id, else the first DNS name, else subject */
    char *issuer;                          /* by whom, in words */
    int64_t not_before_s, not_after_s;     /* the own certificate's, seconds since 1970 */
    char fingerprint[65];                  /* its SHA-256 in hexadecimal digits */
    unsigned char content[32];             /* a digest of all of it: two that have the same are the same */

    /* private */
    struct tls_trust *trust;
    atomic_uint references;
};

/* gRPC's threads may be within OpenSSL when the process exits, whose own cleanup at exit would then pull it
 * away from under them: this leaves it standing. Only the first use of OpenSSL in a process decides, so a
 * program calls it at its start; tls_identity_load does too. Any thread. */
void tls_keep_openssl(void);

/* Reads the files (of tls_files_check) and checks them: the key has no password and belongs to the
 * certificate; the chain is one; its dates hold at `now_s`; the certificate may be used for the role; there
 * is at least one CA; OpenSSL takes it all; each revocation list is whole, current, and signed by one of the
 * CAs. INVALID_ARGUMENT names the file, what is wrong with it, and what to do. */
sw_status tls_identity_load(const struct tls_files *files, enum tls_role role, int64_t now_s,
                            struct tls_identity **ret_identity, sw_error *error);

struct tls_identity *tls_identity_ref(struct tls_identity *identity);
void tls_identity_unref(struct tls_identity *identity); /* takes NULL */

/* Whether the peer that showed this certificate (PEM), which the handshake found to be issued by one of the
 * CAs, is still to be talked to: UNAUTHENTICATED if its dates don't hold at `now_s`; where there are
 * revocation lists also if it, or a CA above it that is one of ours, is on its issuer's list, and if that
 * list is missing or has expired. */
sw_status tls_identity_check_peer(const struct tls_identity *identity, const char *pem, int64_t now_s,
                                  sw_error *error);

#endif
