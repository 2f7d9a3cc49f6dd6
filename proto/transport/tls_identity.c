#include "proto/transport/tls_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "proto/base/error.h"
#include "proto/transport/peer_name.h"
#include "proto/transport/tls_pem.h"
#include "proto/transport/tls_trust.h"

#define KEY_OPTION  "tls_key"
#define CERT_OPTION "tls_cert"

/* What is being loaded. */
struct loading {
    struct pem_file cert, key_file;
    char *cert_text, *key_text;
    EVP_PKEY *key;
    STACK_OF(X509) * all;   /* of the cert file; owns them */
    STACK_OF(X509) * chain; /* the own, its issuer, … */
    struct tls_trust *trust;
};

/* ---- own certificate and chain ---- */

static X509 *certificate_of_key(const struct loading *loading) {
    X509 *found = NULL;
    for (int i = 0; !found && i < sk_X509_num(loading->all); i++) {
        X509 *certificate = sk_X509_value(loading->all, i);
        if (X509_check_private_key(certificate, loading->key) == 1) found = certificate;
    }
    ERR_clear_error();
    return found;
}

static X509 *issuer_in(const STACK_OF(X509) * certificates, X509 *certificate) {
    X509 *found = NULL;
    for (int i = 0; !found && i < sk_X509_num(certificates); i++) {
        X509 *other = sk_X509_value(certificates, i);
        if (other != certificate && X509_check_issued(other, certificate) == X509_V_OK &&
            X509_verify(certificate, X509_get0_pubkey(other)) == 1)
            found = other;
    }
    ERR_clear_error();
    return found;
}

static bool is_self_issued(X509 *certificate) {
    return X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
}

static bool contains(const STACK_OF(X509) * certificates, const X509 *certificate) {
    for (int i = 0; i < sk_X509_num(certificates); i++)
        if (X509_cmp(sk_X509_value(certificates, i), certificate) == 0) return true;
    return false;
}

/* What is left over belongs to nobody, or to a bundle's CAs. */
static sw_status check_left_over(const struct loading *loading, bool is_bundle, sw_error *error) {
    char name[PEM_NAME_WORDS];
    for (int i = 0; i < sk_X509_num(loading->all); i++) {
        X509 *certificate = sk_X509_value(loading->all, i);
        if (contains(loading->chain, certificate)) continue;
        if (is_bundle && X509_check_ca(certificate) > 0) continue;
        return pem_wrong(&loading->cert, error,
                         "certificate %d (%s) does not belong to the chain of the first; leave it out, or "
                         "put the one that issued it in between",
                         i + 1, pem_name_words(X509_get_subject_name(certificate), name, sizeof name));
    }
    return SW_OK;
}

static sw_status find_chain(struct loading *loading, bool is_bundle, sw_error *error) {
    X509 *certificate = certificate_of_key(loading);
    if (!certificate)
        return pem_wrong(&loading->key_file, error,
                         "the private key does not belong to the certificate in %s; the two must be made "
                         "and replaced together",
                         loading->cert.path);
    while (certificate && !contains(loading->chain, certificate)) {
        if (sk_X509_push(loading->chain, certificate) <= 0) return error_no_memory(error);
        certificate = is_self_issued(certificate) ? NULL : issuer_in(loading->all, certificate);
    }
    return check_left_over(loading, is_bundle, error);
}

static sw_status check_dates(const struct loading *loading, int64_t now_s, sw_error *error) {
    char name[PEM_NAME_WORDS], when[PEM_TIME_WORDS];
    for (int i = 0; i < sk_X509_num(loading->chain); i++) {
        const X509 *certificate = sk_X509_value(loading->chain, i);
        int64_t from = pem_seconds(X509_get0_notBefore(certificate));
        int64_t until = pem_seconds(X509_get0_notAfter(certificate));
        if (from <= now_s && now_s <= until) continue;
        pem_name_words(X509_get_subject_name(certificate), name, sizeof name);
        if (now_s > until)
            return pem_wrong(&loading->cert, error, "the certificate of %s has expired on %s; renew it", name,
                             pem_time_words(until, when));
        return pem_wrong(&loading->cert, error,
                         "the certificate of %s begins on %s; is this machine's clock "
                         "right?",
                         name, pem_time_words(from, when));
    }
    return SW_OK;
}

static sw_status check_role(const struct loading *loading, enum tls_role role, sw_error *error) {
    int purpose = role == TLS_SERVER ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
    if (X509_check_purpose(sk_X509_value(loading->chain, 0), purpose, 0) == 1) return SW_OK;
    return pem_wrong(&loading->cert, error,
                     "the certificate may not be used by a %s; its extended key usage "
                     "must have %s",
                     role == TLS_SERVER ? "server" : "client",
                     role == TLS_SERVER ? "serverAuth" : "clientAuth");
}

/* What gRPC will do with it: OpenSSL has opinions on key sizes and digests. */
static sw_status check_by_use(const struct loading *loading, sw_error *error) {
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    char why[128];
    if (!context) return error_no_memory(error);
    bool taken = SSL_CTX_use_certificate(context, sk_X509_value(loading->chain, 0)) == 1;
    for (int i = 1; taken && i < sk_X509_num(loading->chain); i++)
        taken = SSL_CTX_add1_chain_cert(context, sk_X509_value(loading->chain, i)) == 1;
    taken = taken && SSL_CTX_use_PrivateKey(context, loading->key) == 1;
    SSL_CTX_free(context);
    if (taken) return SW_OK;
    return pem_wrong(&loading->cert, error,
                     "OpenSSL does not take it: %s; make one with a stronger key or "
                     "digest",
                     pem_openssl_words(why, sizeof why));
}

/* ---- facts ---- */

static char *name_of(X509 *certificate) {
    char words[PEM_NAME_WORDS], *name = NULL;
    const char *dns = NULL, *uri = NULL;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *at = sk_GENERAL_NAME_value(names, i);
        if (at->type == GEN_URI && !uri) uri = (const char *)ASN1_STRING_get0_data(at->d.ia5);
        if (at->type == GEN_DNS && !dns) dns = (const char *)ASN1_STRING_get0_data(at->d.ia5);
    }
    if (uri && spiffe_id_wrong(uri, strlen(uri))) uri = NULL;
    if (uri || dns)
        name = strdup(uri ? uri : dns);
    else
        name = strdup(pem_name_words(X509_get_subject_name(certificate), words, sizeof words));
    GENERAL_NAMES_free(names);
    return name;
}

static void put_fingerprint(X509 *certificate, char *ret) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    X509_digest(certificate, EVP_sha256(), digest, &size);
    for (unsigned i = 0; i < size; i++) sprintf(ret + 2 * i, "%02x", digest[i]);
}

static bool put_content(struct tls_identity *identity) {
    const char *const parts[] = {identity->key_pem, identity->chain_pem, identity->roots_pem};
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool done = digest && EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
    for (size_t i = 0; done && i < sizeof parts / sizeof *parts; i++)
        done = EVP_DigestUpdate(digest, parts[i], strlen(parts[i]) + 1);
    done = done && tls_trust_digest_crls(identity->trust, digest) &&
           EVP_DigestFinal_ex(digest, identity->content, NULL);
    EVP_MD_CTX_free(digest);
    return done;
}

static bool fill(struct tls_identity *identity, struct loading *loading) {
    char issuer[PEM_NAME_WORDS];
    X509 *own = sk_X509_value(loading->chain, 0);
    identity->key_pem = pem_of_key(loading->key);
    identity->chain_pem = pem_of_certificates(loading->chain);
    identity->roots_pem = tls_trust_roots_pem(loading->trust);
    identity->name = name_of(own);
    identity->issuer = strdup(pem_name_words(X509_get_issuer_name(own), issuer, sizeof issuer));
    identity->not_before_s = pem_seconds(X509_get0_notBefore(own));
    identity->not_after_s = pem_seconds(X509_get0_notAfter(own));
    put_fingerprint(own, identity->fingerprint);
    identity->trust = loading->trust;
    loading->trust = NULL;
    return identity->key_pem && identity->chain_pem && identity->roots_pem && identity->name &&
           identity->issuer && put_content(identity);
}

/* ---- loading ---- */

static sw_status load_own(struct loading *loading, const struct tls_files *files, sw_error *error) {
    loading->cert = (struct pem_file){.path = files->cert, .option = CERT_OPTION};
    loading->key_file = (struct pem_file){.path = files->key, .option = KEY_OPTION};
    sw_status status = tls_file_read(files->cert, CERT_OPTION, &loading->cert_text, error);
    if (status == SW_OK) status = tls_file_read(files->key, KEY_OPTION, &loading->key_text, error);
    loading->cert.text = loading->cert_text;
    loading->key_file.text = loading->key_text;
    if (status == SW_OK) status = pem_certificates(&loading->cert, &loading->all, error);
    if (status == SW_OK) status = pem_key(&loading->key_file, &loading->key, error);
    loading->chain = sk_X509_new_null();
    return status == SW_OK && !loading->chain ? error_no_memory(error) : status;
}

static void free_loading(struct loading *loading) {
    tls_file_free(loading->cert_text);
    tls_file_free(loading->key_text);
    EVP_PKEY_free(loading->key);
    sk_X509_free(loading->chain);
    pem_free_certificates(loading->all);
    tls_trust_destroy(loading->trust);
}

static sw_status load(struct loading *loading, const struct tls_files *files, enum tls_role role,
                      int64_t now_s, sw_error *error) {
    bool is_bundle = strcmp(files->ca, files->cert) == 0, has_crl = files->crl && *files->crl;
    sw_status status = load_own(loading, files, error);
    if (status == SW_OK) status = find_chain(loading, is_bundle, error);
    if (status == SW_OK) status = check_dates(loading, now_s, error);
    if (status == SW_OK) status = check_role(loading, role, error);
    if (status == SW_OK) status = check_by_use(loading, error);
    if (status == SW_OK) status = tls_trust_load(files->ca, is_bundle, now_s, &loading->trust, error);
    if (status == SW_OK && has_crl) status = tls_trust_add_crls(loading->trust, files->crl, now_s, error);
    return status;
}

void tls_keep_openssl(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

sw_status tls_identity_load(const struct tls_files *files, enum tls_role role, int64_t now_s,
                            struct tls_identity **ret_identity, sw_error *error) {
    struct loading loading = {0};
    tls_keep_openssl();
    struct tls_identity *identity = calloc(1, sizeof *identity);
    if (!identity) return error_no_memory(error);
    atomic_init(&identity->references, 1);
    sw_status status = load(&loading, files, role, now_s, error);
    if (status == SW_OK && !fill(identity, &loading)) status = error_no_memory(error);
    free_loading(&loading);
    if (status == SW_OK)
        *ret_identity = identity;
    else
        tls_identity_unref(identity);
    return status;
}

struct tls_identity *tls_identity_ref(struct tls_identity *identity) {
    atomic_fetch_add(&identity->references, 1);
    return identity;
}

void tls_identity_unref(struct tls_identity *identity) {
    if (!identity || atomic_fetch_sub(&identity->references, 1) > 1) return;
    tls_file_free(identity->key_pem);
    free(identity->chain_pem);
    free(identity->roots_pem);
    free(identity->name);
    free(identity->issuer);
    tls_trust_destroy(identity->trust);
    free(identity);
}

sw_status tls_identity_check_peer(const struct tls_identity *identity, const char *pem, int64_t now_s,
                                  sw_error *error) {
    return tls_trust_check_peer(identity->trust, pem, now_s, error);
}
