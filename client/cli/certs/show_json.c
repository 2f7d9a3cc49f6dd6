#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/certs/show.h"
#include "client/cli/json_write.h"

static void put_name(FILE *out, const char *name, const X509_NAME *whom) {
    char *text = facts_subject(whom);
    json_write_member(out, name, text);
    free(text);
}

static void put_names_of(FILE *out, const char *name, const struct fact_names *names,
                         enum fact_name_kind kind) {
    const char *before = "";
    fprintf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < names->count; i++) {
        if (names->names[i].kind != kind) continue;
        fputs(before, out);
        json_write_string(out, names->names[i].text);
        before = ", ";
    }
    fputc(']', out);
}

static void put_time(FILE *out, const char *name, const ASN1_TIME *time) {
    int64_t seconds = facts_time(time);
    if (seconds == INT64_MIN)
        fprintf(out, ", \"%s\": null", name);
    else
        fprintf(out, ", \"%s\": %" PRId64, name, seconds);
}

static void put_flag(FILE *out, const char *name, bool value) {
    fprintf(out, ", \"%s\": %s", name, value ? "true" : "false");
}

static void put_certificate(FILE *out, const struct block_review *review, int64_t now) {
    X509 *certificate = review->block->certificate;
    char fingerprint[FACTS_FINGERPRINT_BYTES];
    facts_fingerprint(certificate, fingerprint);
    put_name(out, "subject", X509_get_subject_name(certificate));
    put_name(out, "issuer", X509_get_issuer_name(certificate));
    put_names_of(out, "spiffe", &review->names, NAME_SPIFFE);
    put_names_of(out, "dns", &review->names, NAME_DNS);
    put_names_of(out, "ip", &review->names, NAME_IP);
    put_flag(out, "server", facts_is_for_server(certificate));
    put_flag(out, "client", facts_is_for_client(certificate));
    put_flag(out, "ca", facts_is_ca(certificate));
    put_time(out, "not_before", X509_get0_notBefore(certificate));
    put_time(out, "not_after", X509_get0_notAfter(certificate));
    fprintf(out, ", \"seconds_left\": %" PRId64, facts_time(X509_get0_notAfter(certificate)) - now);
    json_write_member(out, "sha256", fingerprint);
    json_write_member(out, "key_in", review->partner);
    json_write_member(out, "issuer_in", review->issuer);
}

static void put_crl(FILE *out, const struct block_review *review) {
    X509_CRL *crl = review->block->crl;
    int revoked = sk_X509_REVOKED_num(X509_CRL_get_REVOKED(crl));
    put_name(out, "issuer", X509_CRL_get_issuer(crl));
    json_write_member(out, "issuer_in", review->issuer);
    fprintf(out, ", \"revoked\": %d", revoked > 0 ? revoked : 0);
    put_time(out, "this_update", X509_CRL_get0_lastUpdate(crl));
    put_time(out, "next_update", X509_CRL_get0_nextUpdate(crl));
}

static const char *kind_name(enum pem_kind kind) {
    static const char *const names[] = {"certificate", "key", "crl", "request", "unreadable"};
    return names[kind];
}

static void put_block(FILE *out, const struct block_review *review, int64_t now) {
    const struct cert_block *block = review->block;
    fprintf(out, "{\"kind\": \"%s\"", kind_name(block->kind));
    if (block->kind == PEM_CERTIFICATE) put_certificate(out, review, now);
    if (block->kind == PEM_CRL) put_crl(out, review);
    if (block->kind == PEM_REQUEST) put_name(out, "subject", X509_REQ_get_subject_name(block->request));
    if (block->kind == PEM_KEY) {
        json_write_member(out, "type", EVP_PKEY_get0_type_name(block->key));
        fprintf(out, ", \"bits\": %d", EVP_PKEY_get_bits(block->key));
        json_write_member(out, "certificate_in", review->partner);
    }
    fputs(", \"problems\": [", out);
    for (size_t i = 0; i < review->problem_count; i++) {
        if (i) fputs(", ", out);
        json_write_string(out, review->problems[i]);
    }
    fputs("]}", out);
}

void show_file_json(FILE *out, const struct file_review *review, int64_t now) {
    fputs("{\"file\": ", out);
    json_write_string(out, review->file->path);
    put_flag(out, "ok", review_is_good(review));
    json_write_member(out, "problem", review->file->problem);
    fputs(", \"blocks\": [", out);
    for (size_t i = 0; i < review->file->count; i++) {
        if (i) fputs(", ", out);
        put_block(out, &review->blocks[i], now);
    }
    fputs("]}\n", out);
}
