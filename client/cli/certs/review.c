#include "client/cli/certs/review.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/memory.h"
#include "proto/transport/peer_name.h"

/* Everything that is looked at. */
struct review {
    struct file_review *files;
    size_t count;
    int64_t now;
};

static __attribute__((format(printf, 2, 3))) void problem(struct block_review *block, const char *format,
                                                          ...) {
    va_list arguments;
    char *text;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    size_t room = (block->problem_count + 1) * sizeof *block->problems;
    block->problems = memory_check(realloc(block->problems, room));
    block->problems[block->problem_count++] = memory_check(size < 0 ? NULL : text);
}

/* Each block of every file, with its file. */
#define each_block(review, file_name, block_name)                                                            \
    for (struct file_review *file_name = (review)->files; file_name < (review)->files + (review)->count;     \
         file_name++)                                                                                        \
        for (struct block_review *block_name = file_name->blocks;                                            \
             block_name < file_name->blocks + file_name->file->count; block_name++)

/* ---- a certificate by itself ---- */

static void put_when(FILE *out, int64_t time, int64_t now) {
    facts_put_distance(out, time, now);
    fputs(" (", out);
    facts_put_time(out, time);
    fputc(')', out);
}

static void problem_of_time(struct block_review *block, const char *what, int64_t time, int64_t now,
                            const char *mend) {
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    put_when(out, time, now);
    if (fclose(out) != 0) memory_check(NULL);
    problem(block, "%s %s%s", what, text, mend);
    free(text);
}

static void check_dates(struct block_review *block, int64_t now) {
    const X509 *certificate = block->block->certificate;
    int64_t from = facts_time(X509_get0_notBefore(certificate));
    int64_t until = facts_time(X509_get0_notAfter(certificate));
    if (until <= now) problem_of_time(block, "expired", until, now, "");
    if (from > now)
        problem_of_time(block, "not good before", from, now, "; or is this machine's clock behind?");
}

static void check_names(struct block_review *block) {
    const struct fact_names *names = &block->names;
    if (names->count == 0)
        problem(block, "it names nobody: without a SPIFFE id or a DNS name peers can't tell whose it is");
    if (facts_names_of(names, NAME_SPIFFE) > 1)
        problem(block, "it has %zu SPIFFE ids, and the rule is one: peers refuse it",
                facts_names_of(names, NAME_SPIFFE));
    for (size_t i = 0; i < names->count; i++) {
        const struct fact_name *name = &names->names[i];
        if (name->kind != NAME_SPIFFE) continue;
        const char *wrong = spiffe_id_wrong(name->text, strlen(name->text));
        if (wrong) problem(block, "the SPIFFE id %.200s is wrong: %s", name->text, wrong);
    }
}

static void check_leaf(struct block_review *block) {
    X509 *certificate = block->block->certificate;
    if (facts_is_ca(certificate)) return;
    check_names(block);
    if (!facts_is_for_server(certificate) && !facts_is_for_client(certificate))
        problem(block, "it may stand neither for a server nor for a client: its extended key usage lacks "
                       "serverAuth and clientAuth");
}

/* ---- together ---- */

static bool has_pair(const struct cert_block *certificate, const struct cert_block *key) {
    return EVP_PKEY_eq(X509_get0_pubkey(certificate->certificate), key->key) == 1;
}

static void find_partner(const struct review *review, struct block_review *block) {
    bool is_key = block->block->kind == PEM_KEY;
    enum pem_kind wanted = is_key ? PEM_CERTIFICATE : PEM_KEY;
    bool any = false;
    each_block(review, file, other) {
        if (other->block->kind != wanted) continue;
        any = true;
        if (block->partner) continue;
        if (is_key ? has_pair(other->block, block->block) : has_pair(block->block, other->block))
            block->partner = file->file->path;
    }
    if (is_key && any && !block->partner) problem(block, "it belongs to none of the certificates here");
}

static void find_issuer(const struct review *review, struct block_review *block) {
    X509 *certificate = block->block->certificate;
    bool same_name, is_namesake = false;
    block->is_self_signed = facts_issued(certificate, certificate, &same_name);
    each_block(review, file, other) {
        if (other->block->kind != PEM_CERTIFICATE || other == block || block->issuer) continue;
        if (facts_issued(other->block->certificate, certificate, &same_name))
            block->issuer = file->file->path;
        else
            is_namesake |= same_name;
    }
    if (is_namesake && !block->issuer && !block->is_self_signed)
        problem(block, "a CA of its issuer's name is here, and another key signed it: from an older CA?");
}

static void check_crl(const struct review *review, struct block_review *block) {
    X509_CRL *crl = block->block->crl;
    int64_t next = facts_time(X509_CRL_get0_nextUpdate(crl));
    if (!X509_CRL_get0_nextUpdate(crl))
        problem(block, "it does not say until when it is good, so nobody can rely on it");
    else if (next <= review->now)
        problem_of_time(block, "its successor was due", next, review->now,
                        "; until then peers refuse all that it is about");
    each_block(review, file, other) {
        if (other->block->kind != PEM_CERTIFICATE || block->issuer) continue;
        X509 *certificate = other->block->certificate;
        if (X509_NAME_cmp(X509_get_subject_name(certificate), X509_CRL_get_issuer(crl)) == 0 &&
            X509_CRL_verify(crl, X509_get0_pubkey(certificate)) == 1)
            block->issuer = file->file->path;
    }
}

static void find_revoked(const struct review *review, struct block_review *block) {
    X509 *certificate = block->block->certificate;
    each_block(review, file, other) {
        X509_REVOKED *entry;
        if (other->block->kind != PEM_CRL) continue;
        if (X509_NAME_cmp(X509_CRL_get_issuer(other->block->crl), X509_get_issuer_name(certificate)) != 0)
            continue;
        if (X509_CRL_get0_by_cert(other->block->crl, &entry, certificate) != 1) continue;
        char what[128];
        snprintf(what, sizeof what, "revoked by %.100s", file->file->path);
        problem_of_time(block, what, facts_time(X509_REVOKED_get0_revocationDate(entry)), review->now, "");
    }
}

/* A file that begins with a leaf is that leaf's chain: each one signed by the next. */
static void check_order(const struct file_review *file) {
    struct block_review *below = NULL;
    for (size_t i = 0; i < file->file->count; i++) {
        struct block_review *block = &file->blocks[i];
        bool same_name;
        if (block->block->kind != PEM_CERTIFICATE) continue;
        X509 *certificate = block->block->certificate;
        if (below && !facts_is_ca(certificate))
            problem(block, "a second leaf in the file: only the first one is shown to peers");
        else if (below && !facts_issued(certificate, below->block->certificate, &same_name))
            problem(block, "it did not sign the certificate above it: a chain goes from the leaf up, without "
                           "gaps");
        else if (!below && facts_is_ca(certificate))
            return;
        below = block;
    }
}

static void review_block(const struct review *review, struct block_review *block) {
    switch (block->block->kind) {
    case PEM_CERTIFICATE:
        block->names = facts_names(block->block->certificate);
        check_dates(block, review->now);
        check_leaf(block);
        find_partner(review, block);
        find_issuer(review, block);
        find_revoked(review, block);
        break;
    case PEM_KEY:
        find_partner(review, block);
        break;
    case PEM_CRL:
        check_crl(review, block);
        break;
    case PEM_REQUEST:
        break;
    case PEM_UNREADABLE:
        problem(block, "%s", block->block->problem);
        break;
    }
}

struct file_review *review_files(const struct cert_file *files, size_t count, int64_t now) {
    struct review review = {memory_check(calloc(count + 1, sizeof *review.files)), count, now};
    for (size_t i = 0; i < count; i++) {
        struct file_review *file = &review.files[i];
        file->file = &files[i];
        file->blocks = memory_check(calloc(files[i].count + 1, sizeof *file->blocks));
        for (size_t j = 0; j < files[i].count; j++) file->blocks[j].block = &files[i].blocks[j];
    }
    each_block(&review, file, block) {
        review_block(&review, block);
        if (block->block->kind == PEM_KEY && file->file->is_open_to_all)
            problem(block, "anybody on this machine can read it: chmod o-r %s", file->file->path);
    }
    for (size_t i = 0; i < count; i++) check_order(&review.files[i]);
    return review.files;
}

void reviews_free(struct file_review *reviews, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < reviews[i].file->count; j++) {
            struct block_review *block = &reviews[i].blocks[j];
            facts_names_free(&block->names);
            for (size_t k = 0; k < block->problem_count; k++) free(block->problems[k]);
            free(block->problems);
        }
        free(reviews[i].blocks);
    }
    free(reviews);
}

bool review_is_good(const struct file_review *review) {
    if (review->file->problem) return false;
    for (size_t i = 0; i < review->file->count; i++)
        if (review->blocks[i].problem_count > 0) return false;
    return true;
}
