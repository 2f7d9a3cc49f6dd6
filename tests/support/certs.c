#include "tests/support/certs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define HOUR_S 3600
#define DAY_S  (24 * HOUR_S)

struct cert {
    EVP_PKEY *key;
    X509 *x509;
};

static void check(bool done, const char *what) {
    if (done) return;
    fprintf(stderr, "certs: %s failed\n", what);
    abort();
}

/* ---- making ---- */

static void add_extension(X509 *x509, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    check(extension && X509_add_ext(x509, extension, -1), "an extension");
    X509_EXTENSION_free(extension);
}

static void add_names(GENERAL_NAMES *names, const char *const *list, int type) {
    for (size_t i = 0; list && list[i]; i++) {
        GENERAL_NAME *name = a2i_GENERAL_NAME(NULL, NULL, NULL, type, list[i], 0);
        check(name && sk_GENERAL_NAME_push(names, name), "a name");
    }
}

static void add_alternative_names(X509 *x509, const struct cert_options *options) {
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    add_names(names, options->uris, GEN_URI);
    add_names(names, options->dns, GEN_DNS);
    add_names(names, options->ips, GEN_IPADD);
    if (sk_GENERAL_NAME_num(names) > 0)
        check(X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1, "names");
    GENERAL_NAMES_free(names);
}

static void put_name(X509 *x509, const char *text) {
    X509_NAME *name = X509_get_subject_name(x509);
    check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0),
          "a subject");
}

static void put_serial(X509 *x509) {
    uint64_t serial;
    check(RAND_bytes((unsigned char *)&serial, sizeof serial) == 1, "a serial number");
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial >> 1);
}

struct cert *cert_make(const struct cert_options *options, const struct cert *issuer) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); /* as tls_keep_openssl does */
    struct cert *cert = calloc(1, sizeof *cert);
    check(cert, "memory");
    cert->key = options->rsa_bits ? EVP_RSA_gen((unsigned)options->rsa_bits) : EVP_EC_gen("P-256");
    cert->x509 = X509_new();
    check(cert->key && cert->x509, "a key");
    X509 *by = issuer ? issuer->x509 : cert->x509;
    bool usual = !options->from_s && !options->until_s;
    X509_set_version(cert->x509, X509_VERSION_3);
    put_serial(cert->x509);
    put_name(cert->x509, options->name);
    X509_set_issuer_name(cert->x509, X509_get_subject_name(by));
    X509_set_pubkey(cert->x509, cert->key);
    X509_gmtime_adj(X509_getm_notBefore(cert->x509), usual ? -HOUR_S : options->from_s);
    X509_gmtime_adj(X509_getm_notAfter(cert->x509), usual ? DAY_S : options->until_s);
    add_extension(cert->x509, by, NID_basic_constraints, options->is_ca ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(cert->x509, by, NID_key_usage,
                  options->is_ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
    add_extension(cert->x509, by, NID_subject_key_identifier, "hash");
    add_extension(cert->x509, by, NID_authority_key_identifier, "keyid");
    if (options->usage) add_extension(cert->x509, by, NID_ext_key_usage, options->usage);
    add_alternative_names(cert->x509, options);
    check(X509_sign(cert->x509, issuer ? issuer->key : cert->key, EVP_sha256()) > 0, "a signature");
    return cert;
}

void cert_free(struct cert *cert) {
    if (!cert) return;
    EVP_PKEY_free(cert->key);
    X509_free(cert->x509);
    free(cert);
}

struct cert *cert_ca(const char *name) {
    return cert_make(&(struct cert_options){.name = name, .is_ca = true}, NULL);
}

struct cert *cert_leaf(const struct cert *ca, const char *spiffe_id) {
    const struct cert_options options = {
        .name = "leaf",
        .uris = spiffe_id ? (const char *const[]){spiffe_id, NULL} : NULL,
        .dns = (const char *const[]){"localhost", NULL},
        .ips = (const char *const[]){"127.0.0.1", NULL},
    };
    return cert_make(&options, ca);
}

/* ---- texts ---- */

static char *text_of(BIO *bio) {
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    char *text = calloc(1, (size_t)size + 1);
    check(text != NULL, "memory for a PEM text");
    memcpy(text, data, (size_t)size);
    BIO_free(bio);
    return text;
}

char *cert_pem(const struct cert *cert) {
    BIO *bio = BIO_new(BIO_s_mem());
    check(PEM_write_bio_X509(bio, cert->x509), "writing a certificate");
    return text_of(bio);
}

char *cert_key_pem_with_password(const struct cert *cert, const char *password) {
    BIO *bio = BIO_new(BIO_s_mem());
    const EVP_CIPHER *cipher = password ? EVP_aes_256_cbc() : NULL;
    check(PEM_write_bio_PKCS8PrivateKey(bio, cert->key, cipher, NULL, 0, NULL, (void *)password),
          "writing a key");
    return text_of(bio);
}

char *cert_key_pem(const struct cert *cert) {
    return cert_key_pem_with_password(cert, NULL);
}

static void add_revoked(X509_CRL *crl, const struct cert *cert) {
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_TIME *when = X509_gmtime_adj(NULL, -60);
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(cert->x509));
    X509_REVOKED_set_revocationDate(entry, when);
    ASN1_TIME_free(when);
    check(X509_CRL_add0_revoked(crl, entry), "an entry of a list");
}

char *cert_crl_pem(const struct cert *ca, const struct cert *const *revoked, size_t count, int64_t from_s,
                   int64_t until_s) {
    bool usual = !from_s && !until_s;
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *from = X509_gmtime_adj(NULL, usual ? -HOUR_S : from_s);
    ASN1_TIME *until = X509_gmtime_adj(NULL, usual ? DAY_S : until_s);
    X509_CRL_set_version(crl, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->x509));
    X509_CRL_set1_lastUpdate(crl, from);
    X509_CRL_set1_nextUpdate(crl, until);
    for (size_t i = 0; i < count; i++) add_revoked(crl, revoked[i]);
    X509_CRL_sort(crl);
    check(X509_CRL_sign(crl, ca->key, EVP_sha256()) > 0, "signing a list");
    BIO *bio = BIO_new(BIO_s_mem());
    check(PEM_write_bio_X509_CRL(bio, crl), "writing a list");
    ASN1_TIME_free(from);
    ASN1_TIME_free(until);
    X509_CRL_free(crl);
    return text_of(bio);
}

/* ---- files ---- */

void cert_write(const char *path, const char *const *texts) {
    FILE *file = fopen(path, "w");
    check(file, path);
    for (size_t i = 0; texts[i]; i++) fputs(texts[i], file);
    check(fclose(file) == 0, path);
}

void cert_replace(const char *path, const char *const *texts) {
    char next[512];
    snprintf(next, sizeof next, "%s.next", path);
    cert_write(next, texts);
    check(rename(next, path) == 0, path);
}

static void write_one(const char *folder, const char *name, char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cert_write(path, (const char *const[]){text, NULL});
    free(text);
}

void cert_write_folder(const char *folder, const struct cert *leaf, const struct cert *ca) {
    if (leaf) write_one(folder, "tls.key", cert_key_pem(leaf));
    if (leaf) write_one(folder, "tls.crt", cert_pem(leaf));
    if (ca) write_one(folder, "ca.crt", cert_pem(ca));
}
