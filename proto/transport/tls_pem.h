/* PEM text to OpenSSL's objects and back, with errors that name the file. `path` and `option` are for those:
 * "tls_cert /run/tls.crt: …". Any thread; leaves OpenSSL's error queue empty. */
#ifndef STAGEWIRE_TRANSPORT_TLS_PEM_H
#define STAGEWIRE_TRANSPORT_TLS_PEM_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/x509.h>

#include <stagewire/status.h>

struct pem_file {
    const char *path, *option;
    const char *text;
};

/* Words an error about a file: INVALID_ARGUMENT. */
sw_status pem_wrong(const struct pem_file *file, sw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What OpenSSL complained about last, in `words` of `size` bytes; "OpenSSL does not say why" where it didn't.
 * Empties its queue. */
const char *pem_openssl_words(char *words, size_t size);

/* All certificates of the text, in order; at least one. Free with pem_free_certificates. */
sw_status pem_certificates(const struct pem_file *file, STACK_OF(X509) * *ret, sw_error *error);
void pem_free_certificates(STACK_OF(X509) * certificates); /* takes NULL */

/* The first private key of the text; EVP_PKEY_free. */
sw_status pem_key(const struct pem_file *file, EVP_PKEY **ret, sw_error *error);

/* All revocation lists of the text, added to `crls`; at least one. */
sw_status pem_crls(const struct pem_file *file, STACK_OF(X509_CRL) * crls, sw_error *error);

/* malloced, or NULL without memory. */
char *pem_of_certificates(const STACK_OF(X509) * certificates);
char *pem_of_key(EVP_PKEY *key);

/* A name in words ("CN = ca, O = us"), cut to `size` bytes; returns `words`. */
#define PEM_NAME_WORDS 256
const char *pem_name_words(const X509_NAME *name, char *words, size_t size);

/* Seconds since 1970. */
int64_t pem_seconds(const ASN1_TIME *time);
/* "2026-11-30 22:14:02 UTC"; returns `words`. */
#define PEM_TIME_WORDS 40
const char *pem_time_words(int64_t seconds, char *words);

#endif
