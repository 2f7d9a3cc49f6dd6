/* Certificates for tests, made with OpenSSL's library: CAs, leaves with the names and dates that a test
 * wants, revocation lists, and files of them. Whatever fails ends the test. */
#ifndef STAGEWIRE_TESTS_CERTS_H
#define STAGEWIRE_TESTS_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A certificate with its private key (P-256). */
struct cert;

/* Lists end with NULL; a NULL list is empty. */
struct cert_options {
    const char *name; /* its common name */
    bool is_ca;
    const char *const *uris, *const *dns, *const *ips;
    int64_t from_s, until_s; /* from now; 0, 0: an hour ago, in a day */
    const char *usage;       /* extended key usage as OpenSSL writes it ("serverAuth"); NULL: none is set */
    int rsa_bits;            /* 0: P-256 */
};

/* Issued by `issuer`, or by itself where that is NULL. Free with cert_free. */
struct cert *cert_make(const struct cert_options *options, const struct cert *issuer);
void cert_free(struct cert *cert); /* takes NULL */

/* The usual ones: a CA; a leaf with one SPIFFE id (NULL: none) and the names localhost and 127.0.0.1. */
struct cert *cert_ca(const char *name);
struct cert *cert_leaf(const struct cert *ca, const char *spiffe_id);

/* Texts: free them. */
char *cert_pem(const struct cert *cert);
char *cert_key_pem(const struct cert *cert);
char *cert_key_pem_with_password(const struct cert *cert, const char *password);
/* The list of what a CA has revoked, from `from_s` until `until_s` from now (0, 0: an hour ago, in a day). */
char *cert_crl_pem(const struct cert *ca, const struct cert *const *revoked, size_t count, int64_t from_s,
                   int64_t until_s);

/* Writes all texts (the last is NULL) into a file: in place, as `cat >` does, or as a new file that is
 * renamed over the old. */
void cert_write(const char *path, const char *const *texts);
void cert_replace(const char *path, const char *const *texts);

/* Key, certificate and the CA's certificate as tls.key, tls.crt and ca.crt of a folder, as Kubernetes names
 * them: written in place. Those that are NULL are left alone. */
void cert_write_folder(const char *folder, const struct cert *leaf, const struct cert *ca);

#endif
