/* A file of certificates and keys as it lies there: every block of it, readable or not. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_PEM_READ_H
#define STAGEWIRE_CLIENT_CLI_CERTS_PEM_READ_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/x509.h>

#define PEM_FILE_BYTES_MAX (16u << 20)

enum pem_kind {
    PEM_CERTIFICATE,
    PEM_KEY,
    PEM_CRL,
    PEM_REQUEST,
    PEM_UNREADABLE, /* `problem` says why */
};

struct cert_block {
    enum pem_kind kind;
    X509 *certificate;
    EVP_PKEY *key;
    X509_CRL *crl;
    X509_REQ *request;
    char *problem;
};

struct cert_file {
    const char *path;
    struct cert_block *blocks;
    size_t count;
    bool is_open_to_all; /* anybody on this machine may read it */
    char *problem;       /* why there are no blocks: a sentence about the file */
};

/* Always fills `ret`; what is wrong with the file stands in it. Never waits for a file that is a pipe. */
void pem_read(const char *path, struct cert_file *ret);
void cert_file_free(struct cert_file *file);

/* The first block of that kind, or NULL. */
struct cert_block *cert_file_find(const struct cert_file *file, enum pem_kind kind);

/* The same of what was read already. */
void pem_read_bytes(const char *path, const char *bytes, size_t size, struct cert_file *ret);

#endif
