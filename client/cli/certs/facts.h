/* What a certificate says of itself, as text. Nothing is trusted: whoever shows it cleans it first. */
#ifndef STAGEWIRE_CLIENT_CLI_CERTS_FACTS_H
#define STAGEWIRE_CLIENT_CLI_CERTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/x509.h>

enum fact_name_kind { NAME_SPIFFE, NAME_DNS, NAME_IP, NAME_URI, NAME_EMAIL };

struct fact_name {
    enum fact_name_kind kind;
    char *text;
};

struct fact_names {
    struct fact_name *names;
    size_t count;
};

struct fact_names facts_names(const X509 *certificate);
void facts_names_free(struct fact_names *names);
size_t facts_names_of(const struct fact_names *names, enum fact_name_kind kind);

/* "a, b and c": all of them, or of `kind`, cleaned. */
void facts_put_names(FILE *out, const struct fact_names *names);

/* The common name, else the whole name; freed by the caller. */
char *facts_subject(const X509_NAME *name);

/* Unix seconds; INT64_MIN where the time can't be read. */
int64_t facts_time(const ASN1_TIME *time);
/* "2026-12-07 22:10 UTC" */
void facts_put_time(FILE *out, int64_t time);
/* "in 3 days", "2 hours ago"; by whole days, else hours, else minutes. */
void facts_put_distance(FILE *out, int64_t time, int64_t now);

/* Whether it may stand for a server, and for a client. */
bool facts_is_for_server(X509 *certificate);
bool facts_is_for_client(X509 *certificate);
bool facts_is_ca(X509 *certificate);

/* Whether `issuer` signed it; `ret_same_name`: it has the issuer's name. */
bool facts_issued(X509 *issuer, X509 *certificate, bool *ret_same_name);

#define FACTS_FINGERPRINT_BYTES 65
void facts_fingerprint(const X509 *certificate, char ret[FACTS_FINGERPRINT_BYTES]); /* SHA-256 in hex */

#endif
