#include "client/cli/certs/facts.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "client/cli/memory.h"
#include "client/cli/messages.h"

#define SPIFFE_SCHEME "spiffe://"

/* ---- names ---- */

static char *ip_text(const ASN1_OCTET_STRING *address) {
    char text[INET6_ADDRSTRLEN] = "an IP address of a strange length";
    int length = ASN1_STRING_length(address);
    if (length == 4 || length == 16)
        inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof text);
    return memory_check(strdup(text));
}

/* A NUL inside a name, as in "good.example\0.evil.example", would hide the rest: it is made visible. */
static char *string_text(const ASN1_STRING *string) {
    char *text;
    size_t size;
    FILE *out = memory_check(open_memstream(&text, &size));
    messages_put_clean(out, (const char *)ASN1_STRING_get0_data(string), (size_t)ASN1_STRING_length(string));
    if (fclose(out) != 0) memory_check(NULL);
    return text;
}

static bool read_name(const GENERAL_NAME *from, struct fact_name *ret) {
    int type;
    const void *value = GENERAL_NAME_get0_value(from, &type);
    switch (type) {
    case GEN_DNS:
        *ret = (struct fact_name){NAME_DNS, string_text(value)};
        return true;
    case GEN_EMAIL:
        *ret = (struct fact_name){NAME_EMAIL, string_text(value)};
        return true;
    case GEN_IPADD:
        *ret = (struct fact_name){NAME_IP, ip_text(value)};
        return true;
    case GEN_URI:
        ret->text = string_text(value);
        ret->kind =
            strncasecmp(ret->text, SPIFFE_SCHEME, strlen(SPIFFE_SCHEME)) == 0 ? NAME_SPIFFE : NAME_URI;
        return true;
    default:
        return false;
    }
}

struct fact_names facts_names(const X509 *certificate) {
    struct fact_names names = {0};
    GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = all ? sk_GENERAL_NAME_num(all) : 0;
    names.names = memory_check(calloc((size_t)count + 1, sizeof *names.names));
    for (int i = 0; i < count; i++)
        names.count += read_name(sk_GENERAL_NAME_value(all, i), &names.names[names.count]);
    GENERAL_NAMES_free(all);
    return names;
}

void facts_names_free(struct fact_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->names[i].text);
    free(names->names);
    *names = (struct fact_names){0};
}

size_t facts_names_of(const struct fact_names *names, enum fact_name_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) count += names->names[i].kind == kind;
    return count;
}

void facts_put_names(FILE *out, const struct fact_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        const char *before = i == 0 ? "" : i + 1 == names->count ? " and " : ", ";
        fprintf(out, "%s%s", before, names->names[i].text);
    }
}

char *facts_subject(const X509_NAME *name) {
    int place = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (place >= 0) return string_text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, place)));
    BIO *out = memory_check(BIO_new(BIO_s_mem()));
    X509_NAME_print_ex(out, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
    char *text;
    long size = BIO_get_mem_data(out, &text);
    text = memory_text(size > 0 ? text : "", size > 0 ? (size_t)size : 0);
    BIO_free(out);
    return text;
}

/* ---- time ---- */

int64_t facts_time(const ASN1_TIME *time) {
    struct tm parts;
    if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return INT64_MIN;
    return timegm(&parts);
}

void facts_put_time(FILE *out, int64_t time) {
    time_t seconds = time;
    struct tm parts;
    char text[64];
    if (time == INT64_MIN || !gmtime_r(&seconds, &parts) ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        fputs("a time that cannot be read", out);
    else
        fputs(text, out);
}

void facts_put_distance(FILE *out, int64_t time, int64_t now) {
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"day", 24 * 3600}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
    int64_t distance = time > now ? time - now : now - time;
    size_t unit = 0;
    while (unit < 3 && distance < units[unit].seconds) unit++;
    int64_t number = distance / units[unit].seconds;
    fprintf(out, "%s%" PRId64 " %s%s%s", time > now ? "in " : "", number, units[unit].name,
            number == 1 ? "" : "s", time > now ? "" : " ago");
}

/* ---- what for ---- */

bool facts_is_ca(X509 *certificate) {
    return X509_check_ca(certificate) == 1;
}

bool facts_is_for_server(X509 *certificate) {
    return X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1;
}

bool facts_is_for_client(X509 *certificate) {
    return X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1;
}

bool facts_issued(X509 *issuer, X509 *certificate, bool *ret_same_name) {
    *ret_same_name = X509_NAME_cmp(X509_get_subject_name(issuer), X509_get_issuer_name(certificate)) == 0;
    bool is_signed = *ret_same_name && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
    ERR_clear_error();
    return is_signed;
}

void facts_fingerprint(const X509 *certificate, char ret[FACTS_FINGERPRINT_BYTES]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) size = 0;
    ret[0] = '\0';
    for (unsigned i = 0; i < size && i < FACTS_FINGERPRINT_BYTES / 2; i++)
        sprintf(ret + 2 * i, "%02x", digest[i]);
}
