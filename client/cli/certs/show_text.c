#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/certs/show.h"
#include "client/cli/color.h"
#include "client/cli/memory.h"
#include "client/cli/messages.h"

#define NAME_WIDTH 11

struct page {
    FILE *out;
    int64_t now;
    bool is_colored;
};

static void put_clean(FILE *out, const char *text) {
    messages_put_clean(out, text, strlen(text));
}

static __attribute__((format(printf, 3, 4))) void row(const struct page *page, const char *name,
                                                      const char *format, ...) {
    va_list arguments;
    char *text;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    memory_check(size < 0 ? NULL : text);
    fprintf(page->out, "    %-*s ", NAME_WIDTH, name);
    put_clean(page->out, text);
    fputc('\n', page->out);
    free(text);
}

static void row_of_name(const struct page *page, const char *name, const X509_NAME *whom) {
    char *text = facts_subject(whom);
    row(page, name, "%s", *text ? text : "nobody");
    free(text);
}

static const char *uses(X509 *certificate) {
    bool is_server = facts_is_for_server(certificate), is_client = facts_is_for_client(certificate);
    if (facts_is_ca(certificate)) return "CA: signs certificates";
    if (is_server && is_client) return "server and client";
    return is_server ? "server only" : is_client ? "client only" : "neither server nor client";
}

static void put_until(const struct page *page, const char *name, const ASN1_TIME *time) {
    int64_t until = facts_time(time);
    fprintf(page->out, "    %-*s ", NAME_WIDTH, name);
    facts_put_time(page->out, until);
    fputs(", ", page->out);
    facts_put_distance(page->out, until, page->now);
    fputc('\n', page->out);
}

static void put_certificate(const struct page *page, const struct block_review *review) {
    X509 *certificate = review->block->certificate;
    row_of_name(page, "subject", X509_get_subject_name(certificate));
    if (review->names.count > 0) {
        fprintf(page->out, "    %-*s ", NAME_WIDTH, "names");
        facts_put_names(page->out, &review->names);
        fputc('\n', page->out);
    }
    row(page, "for", "%s", uses(certificate));
    row_of_name(page, "issued by", X509_get_issuer_name(certificate));
    if (review->is_self_signed)
        row(page, "", "itself");
    else if (review->issuer)
        row(page, "", "in %s", review->issuer);
    put_until(page, "until", X509_get0_notAfter(certificate));
    if (review->partner) row(page, "key", "in %s, matches", review->partner);
}

static const char *kind_name(const struct cert_block *block) {
    switch (block->kind) {
    case PEM_CERTIFICATE:
        return "certificate";
    case PEM_KEY:
        return "private key";
    case PEM_CRL:
        return "revocation list";
    case PEM_REQUEST:
        return "request for a certificate";
    default:
        return "not readable";
    }
}

static void put_block(const struct page *page, const struct block_review *review) {
    const struct cert_block *block = review->block;
    fprintf(page->out, "  %s\n", kind_name(block));
    switch (block->kind) {
    case PEM_CERTIFICATE:
        put_certificate(page, review);
        break;
    case PEM_KEY:
        row(page, "kind", "%s, %d bits", EVP_PKEY_get0_type_name(block->key), EVP_PKEY_get_bits(block->key));
        if (review->partner) row(page, "certificate", "in %s, matches", review->partner);
        break;
    case PEM_CRL:
        row_of_name(page, "issued by", X509_CRL_get_issuer(block->crl));
        if (review->issuer) row(page, "", "in %s", review->issuer);
        row(page, "revoked", "%d",
            sk_X509_REVOKED_num(X509_CRL_get_REVOKED(block->crl)) > 0
                ? sk_X509_REVOKED_num(X509_CRL_get_REVOKED(block->crl))
                : 0);
        if (X509_CRL_get0_nextUpdate(block->crl))
            put_until(page, "until", X509_CRL_get0_nextUpdate(block->crl));
        break;
    case PEM_REQUEST:
        row_of_name(page, "subject", X509_REQ_get_subject_name(block->request));
        row(page, "use", "send it to a CA, which makes a certificate of it; it is none itself");
        break;
    case PEM_UNREADABLE:
        break;
    }
}

static void put_problem(const struct page *page, const char *text) {
    fprintf(page->out, "    %s%-*s ", color_start(COLOR_BAD, page->is_colored), NAME_WIDTH, "problem");
    put_clean(page->out, text);
    fprintf(page->out, "%s\n", color_end(page->is_colored));
}

void show_file_text(FILE *out, const struct file_review *review, int64_t now, bool is_colored) {
    struct page page = {out, now, is_colored};
    put_clean(out, review->file->path);
    fputc('\n', out);
    if (review->file->problem) put_problem(&page, review->file->problem);
    for (size_t i = 0; i < review->file->count; i++) {
        put_block(&page, &review->blocks[i]);
        for (size_t j = 0; j < review->blocks[i].problem_count; j++)
            put_problem(&page, review->blocks[i].problems[j]);
    }
}
