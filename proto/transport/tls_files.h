/* Certificates as files: which ones, and their bytes. Any thread. */
#ifndef STAGEWIRE_TRANSPORT_TLS_FILES_H
#define STAGEWIRE_TRANSPORT_TLS_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/status.h>

/* Paths; NULL or "": not given. All are PEM. `cert` alone is one bundle with key, chain and CAs, in any
 * order; `key` may name the same file as `cert`. */
struct tls_files {
    const char *key;  /* the private key, without a password */
    const char *cert; /* the certificate that the key belongs to, and those between it and its CA */
    const char *ca;   /* the CAs that peers are checked against */
    const char *crl;  /* a file with one or several revocation lists, or a folder of such files; optional */
};

bool tls_files_given(const struct tls_files *files);

/* INVALID_ARGUMENT where one is missing that the others need; else all are set in *ret, but perhaps crl. */
sw_status tls_files_check(const struct tls_files *files, struct tls_files *ret, sw_error *error);

/* The text of a file, NUL-terminated; free it with tls_file_free. `option` names it in errors ("tls_key").
 * INVALID_ARGUMENT, with the file, where it cannot be read, is no file, is empty or is too large. */
sw_status tls_file_read(const char *path, const char *option, char **ret_text, sw_error *error);
void tls_file_free(char *text); /* wipes it first; takes NULL */

/* Changes whenever one of the files does, or what a link on their way points to; what is not there counts
 * too. *ret_newest: the latest time of change among them, nanoseconds since 1970. */
struct tls_files_state {
    uint64_t digest;
    int64_t newest_ns;
};
struct tls_files_state tls_files_state(const struct tls_files *files);

#endif
