#include "client/cli/certs/throwaway.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/certs/facts.h"
#include "client/cli/certs/pem_read.h"
#include "client/cli/certs/pem_write.h"
#include "proto/base/error.h"

#define CA_NAME   "stagewire throwaway CA"
#define CA_FILE   "ca"
#define CRL_FILE  "crl"
#define CERT_SUFF ".pem"
#define KEY_SUFF  ".key"

sw_status throwaway_path(const struct throwaway *at, const char *name, const char *suffix,
                         char ret_path[PATH_MAX], sw_error *error) {
    if (snprintf(ret_path, PATH_MAX, "%s/%s%s", at->folder, name, suffix) < PATH_MAX) return SW_OK;
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "the folder's name is too long");
}

static bool exists(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0;
}

struct pair_paths {
    char key[PATH_MAX], certificate[PATH_MAX];
};

static sw_status pair_paths(const struct throwaway *at, const char *name, struct pair_paths *ret,
                            sw_error *error) {
    sw_status status = throwaway_path(at, name, KEY_SUFF, ret->key, error);
    return status == SW_OK ? throwaway_path(at, name, CERT_SUFF, ret->certificate, error) : status;
}

/* ---- reading a pair ---- */

static sw_status unfit(const char *path, const char *why, const char *mend, sw_error *error) {
    return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE, "%s: %s; %s", path, why, mend);
}

/* The first block of that kind, taken out of the file. */
static sw_status take(const char *path, enum pem_kind kind, const char *mend, struct cert_block *ret,
                      sw_error *error) {
    struct cert_file file;
    sw_status status = SW_OK;
    pem_read(path, &file);
    struct cert_block *block = cert_file_find(&file, kind);
    if (block) {
        *ret = *block;
        *block = (struct cert_block){.kind = kind};
    } else {
        const char *why = file.problem ? file.problem : file.count ? file.blocks[0].problem : NULL;
        status = unfit(path, why ? why : "holds something else", mend, error);
    }
    cert_file_free(&file);
    return status;
}

static sw_status read_pair(const struct pair_paths *paths, const char *mend, struct issued *ret,
                           sw_error *error) {
    struct cert_block key = {0}, certificate = {0};
    sw_status status = take(paths->key, PEM_KEY, mend, &key, error);
    if (status == SW_OK) status = take(paths->certificate, PEM_CERTIFICATE, mend, &certificate, error);
    struct issued pair = {certificate.certificate, key.key};
    if (status == SW_OK && EVP_PKEY_eq(X509_get0_pubkey(pair.certificate), pair.key) != 1)
        status = unfit(paths->key, "does not belong to the certificate beside it", mend, error);
    if (status == SW_OK)
        *ret = pair;
    else
        issued_free(&pair);
    return status;
}

/* ---- the CA ---- */

sw_status throwaway_open(const char *folder, int64_t now, struct throwaway *ret, sw_error *error) {
    struct throwaway at = {.folder = folder, .now = now};
    struct pair_paths paths;
    sw_status status = pair_paths(&at, CA_FILE, &paths, error);
    if (status != SW_OK) return status;
    if (!exists(paths.key) && !exists(paths.certificate))
        return error_set_code(error, SW_NOT_FOUND, SW_REASON_NONE,
                              "%s: no CA is there; 'stagewire certs dev' makes one", paths.certificate);
    static const char mend[] = "remove ca.key and ca.pem for a new CA, or take another folder";
    status = read_pair(&paths, mend, &at.ca, error);
    if (status != SW_OK) return status;
    at.ca_until = facts_time(X509_get0_notAfter(at.ca.certificate));
    if (!facts_is_ca(at.ca.certificate))
        status = unfit(paths.certificate, "is no CA's certificate", mend, error);
    else if (at.ca_until <= now)
        status = unfit(paths.certificate, "the CA has expired", mend, error);
    if (status == SW_OK)
        *ret = at;
    else
        throwaway_close(&at);
    return status;
}

void throwaway_close(struct throwaway *at) {
    issued_free(&at->ca);
}

static sw_status write_pair(const struct pair_paths *paths, const struct issued *pair, bool replace,
                            sw_error *error) {
    sw_status status = pem_write(paths->key, &(struct pem_content){.key = pair->key}, replace, error);
    if (status != SW_OK) return status;
    return pem_write(paths->certificate, &(struct pem_content){.certificate = pair->certificate}, replace,
                     error);
}

static sw_status write_crl(const struct throwaway *at, X509_CRL *before, X509 *revoked, char path[PATH_MAX],
                           sw_error *error) {
    X509_CRL *crl;
    sw_status status = throwaway_path(at, CRL_FILE, CERT_SUFF, path, error);
    if (status == SW_OK) status = issue_crl(&at->ca, before, revoked, at->now, &crl, error);
    if (status != SW_OK) return status;
    status = pem_write(path, &(struct pem_content){.crl = crl}, true, error);
    X509_CRL_free(crl);
    return status;
}

sw_status throwaway_create(const char *folder, int64_t now, int64_t until, struct throwaway *ret,
                           sw_error *error) {
    struct throwaway at = {.folder = folder, .now = now, .ca_until = until};
    struct pair_paths paths;
    char crl[PATH_MAX];
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: cannot be made: %s", folder,
                              strerror(errno));
    struct certificate_wish wish = {
        .common_name = CA_NAME, .not_before = now - THROWAWAY_BEFORE_S, .not_after = until};
    sw_status status = pair_paths(&at, CA_FILE, &paths, error);
    if (status == SW_OK) status = issue_ca(&wish, &at.ca, error);
    if (status == SW_OK) status = write_pair(&paths, &at.ca, false, error);
    if (status == SW_OK) status = write_crl(&at, NULL, NULL, crl, error);
    if (status == SW_OK)
        *ret = at;
    else
        throwaway_close(&at);
    return status;
}

/* ---- leaves ---- */

static bool is_for(const X509 *certificate, const char *spiffe) {
    struct fact_names names = facts_names(certificate);
    bool is_same = false;
    for (size_t i = 0; i < names.count; i++)
        is_same |= names.names[i].kind == NAME_SPIFFE && strcmp(names.names[i].text, spiffe) == 0;
    facts_names_free(&names);
    return is_same;
}

/* What speaks against keeping the leaf; NULL if nothing does. */
static const char *spoilt(const struct throwaway *at, const struct issued *leaf) {
    bool same_name;
    if (!facts_issued(at->ca.certificate, leaf->certificate, &same_name)) return "was issued by another CA";
    if (facts_time(X509_get0_notAfter(leaf->certificate)) <= at->now) return "has expired";
    return NULL;
}

static sw_status keep(const struct throwaway *at, const struct pair_paths *paths,
                      const struct certificate_wish *wish, int64_t *ret_until, sw_error *error) {
    static const char mend[] = "--force makes it anew";
    struct issued leaf;
    sw_status status = read_pair(paths, mend, &leaf, error);
    if (status != SW_OK) return status;
    const char *why = spoilt(at, &leaf);
    if (why)
        status = error_set_code(error, SW_ALREADY_EXISTS, SW_REASON_NONE, "%s: is there and %s; %s",
                                paths->certificate, why, mend);
    else if (!is_for(leaf.certificate, wish->spiffe))
        status = error_set_code(error, SW_ALREADY_EXISTS, SW_REASON_NONE,
                                "%s: is there and is not for %s; %s", paths->certificate, wish->spiffe, mend);
    else
        *ret_until = facts_time(X509_get0_notAfter(leaf.certificate));
    issued_free(&leaf);
    return status;
}

sw_status throwaway_leaf(const struct throwaway *at, const char *name, const struct certificate_wish *wish,
                         bool replace, bool *ret_kept, int64_t *ret_until, sw_error *error) {
    struct pair_paths paths;
    sw_status status = pair_paths(at, name, &paths, error);
    if (status != SW_OK) return status;
    *ret_kept = !replace && (exists(paths.key) || exists(paths.certificate));
    if (*ret_kept) return keep(at, &paths, wish, ret_until, error);
    struct issued leaf;
    status = issue_leaf(wish, &at->ca, &leaf, error);
    if (status != SW_OK) return status;
    status = write_pair(&paths, &leaf, replace, error);
    issued_free(&leaf);
    *ret_until = wish->not_after;
    return status;
}

sw_status throwaway_revoke(const struct throwaway *at, X509 *certificate, char ret_path[PATH_MAX],
                           sw_error *error) {
    bool same_name;
    if (!facts_issued(at->ca.certificate, certificate, &same_name))
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "the CA of %s has not issued it, so it cannot revoke it", at->folder);
    sw_status status = throwaway_path(at, CRL_FILE, CERT_SUFF, ret_path, error);
    if (status != SW_OK) return status;
    struct cert_block list = {0};
    if (exists(ret_path)) status = take(ret_path, PEM_CRL, "remove it to begin a new list", &list, error);
    if (status == SW_OK) status = write_crl(at, list.crl, certificate, ret_path, error);
    X509_CRL_free(list.crl);
    return status;
}
