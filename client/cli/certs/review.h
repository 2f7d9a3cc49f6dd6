/* What is to be said of files of certificates and keys, seen together. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_REVIEW_H
#define STAGEWIRE_CLIENT_CLI_CERTS_REVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/certs/facts.h"
#include "client/cli/certs/pem_read.h"

/* Of one block. Paths are borrowed from the files. */
struct block_review {
    const struct cert_block *block;
    struct fact_names names; /* of a certificate */
    const char *partner;     /* of a key: the file with its certificate; of a certificate: with its key */
    const char *issuer;      /* of a certificate or a revocation list: the file with its issuer */
    bool is_self_signed;     /* it is its own issuer */
    char **problems;         /* sentences; it is no good for stagewire */
    size_t problem_count;
};

struct file_review {
    const struct cert_file *file;
    struct block_review *blocks; /* one each */
};

/* `now` is in Unix seconds; `files` stay with the caller and must outlive the reviews. One review a file. */
struct file_review *review_files(const struct cert_file *files, size_t count, int64_t now);
void reviews_free(struct file_review *reviews, size_t count);

bool review_is_good(const struct file_review *review);

#endif
