/* Files that are there whole or not at all. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_PEM_WRITE_H
#define STAGEWIRE_CLIENT_CLI_CERTS_PEM_WRITE_H

#include <stdbool.h>

#include <openssl/x509.h>

#include <stagewire/status.h>

/* What to write; what is NULL is left out. A file with a key is for its owner alone (mode 0600), any other
 * for all to read. */
struct pem_content {
    EVP_PKEY *key;
    X509 *certificate;
    X509_CRL *crl;
};

/* Writes beside it and moves it there. Without `replace` a file that is there stays: ALREADY_EXISTS. Other
 * errors are INTERNAL and name the path. */
sw_status pem_write(const char *path, const struct pem_content *content, bool replace, sw_error *error);

#endif
