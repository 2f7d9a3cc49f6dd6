#include "client/cli/certs/issue.h"

#include <arpa/inet.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "proto/base/error.h"

#define SERIAL_BYTES 16
#define VERSION_3    2 /* counted from 0 */
#define CRL_VERSION  1

static sw_status refused(const char *doing, sw_error *error) {
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "OpenSSL cannot %s: %s", doing,
                          why ? why : "it does not say why");
}

void issued_free(struct issued *issued) {
    X509_free(issued->certificate);
    EVP_PKEY_free(issued->key);
    *issued = (struct issued){0};
}

/* ---- names ---- */

static bool push(GENERAL_NAMES *names, GENERAL_NAME *name) {
    if (name && sk_GENERAL_NAME_push(names, name) > 0) return true;
    GENERAL_NAME_free(name);
    return false;
}

static GENERAL_NAME *text_name(int type, const char *text) {
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *value = ASN1_IA5STRING_new();
    if (!name || !value || !ASN1_STRING_set(value, text, -1)) {
        GENERAL_NAME_free(name);
        ASN1_IA5STRING_free(value);
        return NULL;
    }
    GENERAL_NAME_set0_value(name, type, value);
    return name;
}

static GENERAL_NAME *host_name(const char *host) {
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    if (!address) return text_name(GEN_DNS, host);
    GENERAL_NAME *name = GENERAL_NAME_new();
    if (name)
        GENERAL_NAME_set0_value(name, GEN_IPADD, address);
    else
        ASN1_OCTET_STRING_free(address);
    return name;
}

static bool add_names(X509 *certificate, const struct certificate_wish *wish) {
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    bool is_good = names && (!wish->spiffe || push(names, text_name(GEN_URI, wish->spiffe)));
    for (size_t i = 0; is_good && i < wish->host_count; i++) is_good = push(names, host_name(wish->hosts[i]));
    if (is_good && sk_GENERAL_NAME_num(names) > 0)
        is_good = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) == 1;
    GENERAL_NAMES_free(names);
    return is_good;
}

/* ---- certificates ---- */

struct extension_text {
    int nid;
    const char *value;
};

static const struct extension_text ca_extensions[] = {
    {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
    {NID_key_usage, "critical,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
    {0},
};

static const struct extension_text leaf_extensions[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},   {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "serverAuth,clientAuth"},   {NID_subject_key_identifier, "hash"},
    {NID_authority_key_identifier, "keyid:always"}, {0},
};

static bool add_extensions(X509 *certificate, X509 *issuer, const struct extension_text *texts) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    for (const struct extension_text *text = texts; text->value; text++) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, text->nid, text->value);
        bool is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
        X509_EXTENSION_free(extension);
        if (!is_added) return false;
    }
    return true;
}

static bool set_serial(X509 *certificate) {
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] &= 0x7f; /* serials are positive */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static bool set_subject(X509 *certificate, const char *common_name) {
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)common_name, -1, -1, 0) == 1;
}

static bool fill(X509 *certificate, EVP_PKEY *key, const struct certificate_wish *wish) {
    return X509_set_version(certificate, VERSION_3) && set_serial(certificate) &&
           ASN1_TIME_set(X509_getm_notBefore(certificate), wish->not_before) &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), wish->not_after) &&
           set_subject(certificate, wish->common_name) && X509_set_pubkey(certificate, key);
}

/* `ca` NULL: it signs itself. */
static sw_status issue(const struct certificate_wish *wish, const struct issued *ca,
                       const struct extension_text *extensions, struct issued *ret, sw_error *error) {
    struct issued made = {X509_new(), EVP_EC_gen("P-256")};
    const struct issued *issuer = ca ? ca : &made;
    bool is_made = made.certificate && made.key && fill(made.certificate, made.key, wish) &&
                   X509_set_issuer_name(made.certificate, X509_get_subject_name(issuer->certificate)) &&
                   add_extensions(made.certificate, issuer->certificate, extensions) &&
                   add_names(made.certificate, wish) &&
                   X509_sign(made.certificate, issuer->key, EVP_sha256()) > 0;
    if (!is_made) {
        issued_free(&made);
        return refused("make a certificate", error);
    }
    *ret = made;
    return SW_OK;
}

sw_status issue_ca(const struct certificate_wish *wish, struct issued *ret, sw_error *error) {
    return issue(wish, NULL, ca_extensions, ret, error);
}

sw_status issue_leaf(const struct certificate_wish *wish, const struct issued *ca, struct issued *ret,
                     sw_error *error) {
    return issue(wish, ca, leaf_extensions, ret, error);
}

/* ---- revocation ---- */

static bool add_crl_number(X509_CRL *crl, const X509_CRL *before) {
    int64_t number = 0;
    ASN1_INTEGER *last = before ? X509_CRL_get_ext_d2i(before, NID_crl_number, NULL, NULL) : NULL;
    if (last) ASN1_INTEGER_get_int64(&number, last);
    ASN1_INTEGER_free(last);
    ASN1_INTEGER *next = ASN1_INTEGER_new();
    bool is_added = next && ASN1_INTEGER_set_int64(next, number + 1) &&
                    X509_CRL_add1_ext_i2d(crl, NID_crl_number, next, 0, 0) == 1;
    ASN1_INTEGER_free(next);
    return is_added;
}

static bool add_authority(X509_CRL *crl, X509 *issuer) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, NULL, NULL, crl, 0);
    X509_EXTENSION *extension =
        X509V3_EXT_conf_nid(NULL, &context, NID_authority_key_identifier, "keyid:always");
    bool is_added = extension && X509_CRL_add_ext(crl, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool push_revoked(X509_CRL *crl, X509_REVOKED *entry) {
    if (entry && X509_CRL_add0_revoked(crl, entry)) return true;
    X509_REVOKED_free(entry);
    return false;
}

static bool copy_revoked(X509_CRL *crl, X509_CRL *before) {
    STACK_OF(X509_REVOKED) *entries = before ? X509_CRL_get_REVOKED(before) : NULL;
    for (int i = 0; i < sk_X509_REVOKED_num(entries); i++)
        if (!push_revoked(crl, X509_REVOKED_dup(sk_X509_REVOKED_value(entries, i)))) return false;
    return true;
}

static bool add_revoked(X509_CRL *crl, X509_CRL *before, const X509 *certificate, const ASN1_TIME *now) {
    const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
    X509_REVOKED *known = NULL;
    if (before && X509_CRL_get0_by_serial(before, &known, serial) == 1) return true;
    X509_REVOKED *entry = X509_REVOKED_new();
    bool is_filled = entry && X509_REVOKED_set_serialNumber(entry, (ASN1_INTEGER *)serial) &&
                     X509_REVOKED_set_revocationDate(entry, (ASN1_TIME *)now);
    if (!is_filled) {
        X509_REVOKED_free(entry);
        return false;
    }
    return push_revoked(crl, entry);
}

sw_status issue_crl(const struct issued *ca, X509_CRL *before, const X509 *revoked, int64_t now,
                    X509_CRL **ret, sw_error *error) {
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *time = ASN1_TIME_set(NULL, now);
    bool is_made = crl && time && X509_CRL_set_version(crl, CRL_VERSION) &&
                   X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->certificate)) &&
                   X509_CRL_set1_lastUpdate(crl, time) &&
                   X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(ca->certificate)) &&
                   copy_revoked(crl, before) && (!revoked || add_revoked(crl, before, revoked, time)) &&
                   add_crl_number(crl, before) && add_authority(crl, ca->certificate) && X509_CRL_sort(crl) &&
                   X509_CRL_sign(crl, ca->key, EVP_sha256()) > 0;
    ASN1_TIME_free(time);
    if (!is_made) {
        X509_CRL_free(crl);
        return refused("make a revocation list", error);
    }
    *ret = crl;
    return SW_OK;
}
