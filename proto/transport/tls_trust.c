#include "proto/transport/tls_trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "proto/base/error.h"
#include "proto/transport/tls_files.h"
#include "proto/transport/tls_pem.h"

#define CA_OPTION  "tls_ca"
#define CRL_OPTION "tls_crl"

/* How many CAs of ours may stand above one another: certificates that issue each other don't go round. */
#define LEVELS_MAX 8

struct tls_trust {
    STACK_OF(X509) * roots;
    STACK_OF(X509_CRL) * crls; /* NULL: none are asked for */
};

void tls_trust_destroy(struct tls_trust *trust) {
    if (!trust) return;
    pem_free_certificates(trust->roots);
    sk_X509_CRL_pop_free(trust->crls, X509_CRL_free);
    free(trust);
}

char *tls_trust_roots_pem(const struct tls_trust *trust) {
    return pem_of_certificates(trust->roots);
}

/* ---- CAs ---- */

static sw_status no_ca(const struct pem_file *file, X509 *certificate, sw_error *error) {
    char name[PEM_NAME_WORDS];
    return pem_wrong(file, error, "holds a certificate that is no CA's (%s); it may have those of CAs only",
                     pem_name_words(X509_get_subject_name(certificate), name, sizeof name));
}

/* Leaves those of CAs. */
static sw_status keep_cas(const struct pem_file *file, STACK_OF(X509) * certificates, bool is_bundle,
                          sw_error *error) {
    for (int i = sk_X509_num(certificates) - 1; i >= 0; i--) {
        X509 *certificate = sk_X509_value(certificates, i);
        if (X509_check_ca(certificate) > 0) continue;
        if (!is_bundle) return no_ca(file, certificate, error);
        X509_free(sk_X509_delete(certificates, i));
    }
    if (sk_X509_num(certificates) > 0) return SW_OK;
    return pem_wrong(file, error, "has no CA's certificate; add it, or name the CAs' file (--tls-ca)");
}

static bool holds(const X509 *certificate, int64_t now_s) {
    return pem_seconds(X509_get0_notBefore(certificate)) <= now_s &&
           now_s <= pem_seconds(X509_get0_notAfter(certificate));
}

static sw_status check_one_holds(const struct pem_file *file, STACK_OF(X509) * roots, int64_t now_s,
                                 sw_error *error) {
    char until[PEM_TIME_WORDS], name[PEM_NAME_WORDS];
    for (int i = 0; i < sk_X509_num(roots); i++)
        if (holds(sk_X509_value(roots, i), now_s)) return SW_OK;
    const X509 *last = sk_X509_value(roots, sk_X509_num(roots) - 1);
    return pem_wrong(file, error,
                     "no CA in it is valid now (the last, %s, until %s); renew it, and see that this "
                     "machine's clock is right",
                     pem_name_words(X509_get_subject_name(last), name, sizeof name),
                     pem_time_words(pem_seconds(X509_get0_notAfter(last)), until));
}

sw_status tls_trust_load(const char *ca_path, bool is_bundle, int64_t now_s, struct tls_trust **ret,
                         sw_error *error) {
    char *text;
    sw_status status = tls_file_read(ca_path, CA_OPTION, &text, error);
    if (status != SW_OK) return status;
    const struct pem_file file = {.path = ca_path, .option = CA_OPTION, .text = text};
    STACK_OF(X509) *roots = NULL;
    status = pem_certificates(&file, &roots, error);
    if (status == SW_OK) status = keep_cas(&file, roots, is_bundle, error);
    if (status == SW_OK) status = check_one_holds(&file, roots, now_s, error);
    struct tls_trust *trust = status == SW_OK ? calloc(1, sizeof *trust) : NULL;
    if (status == SW_OK && !trust) status = error_no_memory(error);
    tls_file_free(text);
    if (status != SW_OK) {
        pem_free_certificates(roots);
        return status;
    }
    trust->roots = roots;
    *ret = trust;
    return SW_OK;
}

/* The CA of ours that signed it, or NULL. Two may have the same name, so the signature decides. */
static X509 *issuer_of(const struct tls_trust *trust, X509 *certificate) {
    for (int i = 0; i < sk_X509_num(trust->roots); i++) {
        X509 *root = sk_X509_value(trust->roots, i);
        if (X509_NAME_cmp(X509_get_subject_name(root), X509_get_issuer_name(certificate)) == 0 &&
            X509_verify(certificate, X509_get0_pubkey(root)) == 1)
            return root;
    }
    ERR_clear_error();
    return NULL;
}

/* ---- revocation lists ---- */

static bool is_signed_by(X509_CRL *crl, X509 *ca) {
    bool is_signed = X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(ca)) == 0 &&
                     X509_CRL_verify(crl, X509_get0_pubkey(ca)) == 1;
    ERR_clear_error();
    return is_signed;
}

static bool crl_has_expired(const X509_CRL *crl, int64_t now_s) {
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(crl);
    return next && pem_seconds(next) < now_s;
}

static bool crl_holds(const X509_CRL *crl, int64_t now_s) {
    return pem_seconds(X509_CRL_get0_lastUpdate(crl)) <= now_s && !crl_has_expired(crl, now_s);
}

static sw_status check_crl(const struct tls_trust *trust, const struct pem_file *file, X509_CRL *crl,
                           int64_t now_s, sw_error *error) {
    char name[PEM_NAME_WORDS], when[PEM_TIME_WORDS];
    pem_name_words(X509_CRL_get_issuer(crl), name, sizeof name);
    /* Critical extensions say that it is a part of a list, or of somebody else's certificates. */
    if (X509_CRL_get_ext_by_critical(crl, 1, -1) >= 0)
        return pem_wrong(file, error, "the list of %s is a delta or partial one; only full ones can be used",
                         name);
    if (crl_has_expired(crl, now_s))
        return pem_wrong(file, error, "the list of %s has expired on %s; fetch the new one from the CA", name,
                         pem_time_words(pem_seconds(X509_CRL_get0_nextUpdate(crl)), when));
    if (!crl_holds(crl, now_s))
        return pem_wrong(file, error, "the list of %s begins on %s; is this machine's clock right?", name,
                         pem_time_words(pem_seconds(X509_CRL_get0_lastUpdate(crl)), when));
    for (int i = 0; i < sk_X509_num(trust->roots); i++)
        if (is_signed_by(crl, sk_X509_value(trust->roots, i))) return SW_OK;
    return pem_wrong(file, error, "the list of %s is not signed by any of the CAs that are trusted (tls_ca)",
                     name);
}

static sw_status add_crl_file(struct tls_trust *trust, const char *path, int64_t now_s, sw_error *error) {
    char *text;
    sw_status status = tls_file_read(path, CRL_OPTION, &text, error);
    if (status != SW_OK) return status;
    const struct pem_file file = {.path = path, .option = CRL_OPTION, .text = text};
    int before = sk_X509_CRL_num(trust->crls);
    status = pem_crls(&file, trust->crls, error);
    for (int i = before; status == SW_OK && i < sk_X509_CRL_num(trust->crls); i++)
        status = check_crl(trust, &file, sk_X509_CRL_value(trust->crls, i), now_s, error);
    tls_file_free(text);
    return status;
}

static sw_status folder_wrong(const char *path, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s %s: %s", CRL_OPTION, path, why);
}

/* Kubernetes keeps folders and links of its own beside the files, whose names begin with a dot. */
static sw_status add_crl_folder(struct tls_trust *trust, const char *path, int64_t now_s, sw_error *error) {
    DIR *folder = opendir(path);
    if (!folder) return folder_wrong(path, strerror(errno), error);
    sw_status status = SW_OK;
    for (struct dirent *entry; status == SW_OK && (entry = readdir(folder));) {
        char file[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        status = add_crl_file(trust, file, now_s, error);
    }
    closedir(folder);
    if (status == SW_OK && sk_X509_CRL_num(trust->crls) == 0)
        status = folder_wrong(path, "is a folder without a file; put the CAs' revocation lists there", error);
    return status;
}

sw_status tls_trust_add_crls(struct tls_trust *trust, const char *crl_path, int64_t now_s, sw_error *error) {
    struct stat state;
    trust->crls = sk_X509_CRL_new_null();
    if (!trust->crls) return error_no_memory(error);
    bool is_folder = stat(crl_path, &state) == 0 && S_ISDIR(state.st_mode);
    return is_folder ? add_crl_folder(trust, crl_path, now_s, error)
                     : add_crl_file(trust, crl_path, now_s, error);
}

bool tls_trust_digest_crls(const struct tls_trust *trust, EVP_MD_CTX *digest) {
    unsigned char all[EVP_MAX_MD_SIZE] = {0}, one[EVP_MAX_MD_SIZE];
    for (int i = 0; i < sk_X509_CRL_num(trust->crls); i++) {
        unsigned size;
        if (!X509_CRL_digest(sk_X509_CRL_value(trust->crls, i), EVP_sha256(), one, &size)) return false;
        for (unsigned at = 0; at < size; at++) all[at] ^= one[at];
    }
    return EVP_DigestUpdate(digest, all, sizeof all);
}

/* ---- peers ---- */

static sw_status refuse(sw_error *error, X509 *certificate, const char *why, const char *what_to_do) {
    char name[PEM_NAME_WORDS];
    pem_name_words(X509_get_subject_name(certificate), name, sizeof name);
    return error_set_code(error, SW_UNAUTHENTICATED, SW_REASON_NONE, "the certificate of %s %s; %s",
                          name[0] ? name : "the peer", why, what_to_do);
}

static sw_status check_dates(X509 *certificate, int64_t now_s, sw_error *error) {
    int64_t from = pem_seconds(X509_get0_notBefore(certificate));
    int64_t until = pem_seconds(X509_get0_notAfter(certificate));
    char why[64], when[PEM_TIME_WORDS];
    if (now_s > until) {
        snprintf(why, sizeof why, "has expired on %s", pem_time_words(until, when));
        return refuse(error, certificate, why, "renew it");
    }
    if (now_s < from) {
        snprintf(why, sizeof why, "begins on %s", pem_time_words(from, when));
        return refuse(error, certificate, why, "see that both machines' clocks are right");
    }
    return SW_OK;
}

enum standing { NO_LIST, LIST_EXPIRED, NOT_LISTED, LISTED };

static enum standing standing_of(const struct tls_trust *trust, X509 *certificate, X509 *issuer,
                                 int64_t now_s) {
    enum standing standing = NO_LIST;
    for (int i = 0; i < sk_X509_CRL_num(trust->crls); i++) {
        X509_CRL *crl = sk_X509_CRL_value(trust->crls, i);
        X509_REVOKED *entry;
        if (!is_signed_by(crl, issuer)) continue;
        if (X509_CRL_get0_by_cert(crl, &entry, certificate) == 1) return LISTED;
        if (crl_holds(crl, now_s))
            standing = NOT_LISTED;
        else if (standing == NO_LIST)
            standing = LIST_EXPIRED;
    }
    return standing;
}

static sw_status check_revocation(const struct tls_trust *trust, X509 *certificate, X509 *issuer,
                                  int64_t now_s, sw_error *error) {
    switch (standing_of(trust, certificate, issuer, now_s)) {
    case NOT_LISTED:
        return SW_OK;
    case LISTED:
        return refuse(error, certificate, "has been revoked by its CA", "ask the CA for a new one");
    case LIST_EXPIRED:
        return refuse(error, certificate, "cannot be checked: its CA's revocation list has expired",
                      "put the new list where tls_crl names it, on the side that refuses");
    case NO_LIST:
        break;
    }
    return refuse(error, certificate, "cannot be checked: there is no revocation list of its CA",
                  "put that list where tls_crl names it, on the side that refuses");
}

static sw_status check_upwards(const struct tls_trust *trust, X509 *certificate, int64_t now_s,
                               sw_error *error) {
    for (int level = 0; level < LEVELS_MAX; level++) {
        X509 *issuer = issuer_of(trust, certificate);
        if (!issuer)
            return refuse(error, certificate, "cannot be checked: its CA is none of those in tls_ca",
                          "add that CA to tls_ca and its list to tls_crl, on the side that refuses");
        sw_status status = check_revocation(trust, certificate, issuer, now_s, error);
        if (status != SW_OK || issuer_of(trust, issuer) == issuer) return status;
        if (!issuer_of(trust, issuer)) return SW_OK;
        certificate = issuer;
    }
    return SW_OK;
}

sw_status tls_trust_check_peer(const struct tls_trust *trust, const char *pem, int64_t now_s,
                               sw_error *error) {
    BIO *bio = BIO_new_mem_buf(pem, -1);
    if (!bio) return error_no_memory(error);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    ERR_clear_error();
    if (!certificate)
        return error_set_code(error, SW_UNAUTHENTICATED, SW_REASON_NONE,
                              "the peer's certificate cannot be read");
    sw_status status = check_dates(certificate, now_s, error);
    if (status == SW_OK && trust->crls) status = check_upwards(trust, certificate, now_s, error);
    X509_free(certificate);
    return status;
}
