/* Makes keys, certificates and revocation lists for trying things out: EC P-256, SHA-256, version 3. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_ISSUE_H
#define STAGEWIRE_CLIENT_CLI_CERTS_ISSUE_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/x509.h>

#include <stagewire/status.h>

/* A certificate and its key; both NULL before they are made. */
struct issued {
    X509 *certificate;
    EVP_PKEY *key;
};

struct certificate_wish {
    const char *common_name;
    const char *spiffe;       /* a SPIFFE id, or NULL */
    const char *const *hosts; /* DNS names and IP addresses */
    size_t host_count;
    int64_t not_before, not_after; /* Unix seconds */
};

/* A root that signs itself and leaves of its own, and nothing below them. */
sw_status issue_ca(const struct certificate_wish *wish, struct issued *ret, sw_error *error);
/* A leaf for both ends of TLS. INTERNAL with OpenSSL's words, as below, where it refuses. */
sw_status issue_leaf(const struct certificate_wish *wish, const struct issued *ca, struct issued *ret,
                     sw_error *error);
void issued_free(struct issued *issued); /* takes what is empty */

/* A list that stands until the CA's own end: what `before` has (NULL: nothing) and, unless it is NULL,
 * `revoked`. */
sw_status issue_crl(const struct issued *ca, X509_CRL *before, const X509 *revoked, int64_t now,
                    X509_CRL **ret, sw_error *error);

#endif
