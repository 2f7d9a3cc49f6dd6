/* Whom to trust: the CAs, and what they have taken back. Immutable once made; any thread. */
#ifndef STAGEWIRE_TRANSPORT_TLS_TRUST_H
#define STAGEWIRE_TRANSPORT_TLS_TRUST_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/evp.h>

#include <stagewire/status.h>

struct tls_trust;

/* The CAs of the file, of which at least one must hold at `now_s`. A file that has other certificates too is
 * an error, unless it `is_bundle`. INVALID_ARGUMENT names it. */
sw_status tls_trust_load(const char *ca_path, bool is_bundle, int64_t now_s, struct tls_trust **ret,
                         sw_error *error);
void tls_trust_destroy(struct tls_trust *trust); /* takes NULL */

/* The revocation lists of a file, or of the files in a folder. INVALID_ARGUMENT if one is broken, is only a
 * part of a list, has expired, or is not signed by one of the CAs. */
sw_status tls_trust_add_crls(struct tls_trust *trust, const char *crl_path, int64_t now_s, sw_error *error);

/* malloced, or NULL without memory. */
char *tls_trust_roots_pem(const struct tls_trust *trust);

/* Adds the revocation lists to a digest, in whatever order they were found; false without memory. */
bool tls_trust_digest_crls(const struct tls_trust *trust, EVP_MD_CTX *digest);

/* tls_identity_check_peer. */
sw_status tls_trust_check_peer(const struct tls_trust *trust, const char *pem, int64_t now_s,
                               sw_error *error);

#endif
