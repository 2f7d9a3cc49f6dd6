/* Certificates are taken once all of them fits together; else the error names the file and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/transport/tls_identity.h"
#include "tests/support/certs.h"
#include "tests/support/test.h"

#define DAY_S (24 * 3600)

static char folder[64], key[96], cert[96], ca[96], crl[96];
static struct cert *root, *leaf;
static struct tls_identity *identity;
static sw_error error;

static void setup(void) {
    strcpy(folder, "/tmp/stagewire-tls-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(key, sizeof key, "%s/tls.key", folder);
    snprintf(cert, sizeof cert, "%s/tls.crt", folder);
    snprintf(ca, sizeof ca, "%s/ca.crt", folder);
    snprintf(crl, sizeof crl, "%s/crl", folder);
    root = cert_ca("root");
    leaf = cert_leaf(root, "spiffe://job.example/stage/3");
    cert_write_folder(folder, leaf, root);
}

static void teardown(void) {
    tls_identity_unref(identity);
    cert_free(leaf);
    cert_free(root);
    unlink(key);
    unlink(cert);
    unlink(ca);
    unlink(crl);
    rmdir(crl);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(tls_identity, .init = setup, .fini = teardown, .timeout = 60);

static int64_t now(void) {
    return time(NULL);
}

static sw_status load_at(const struct tls_files *files, enum tls_role role, int64_t now_s) {
    struct tls_files checked;
    sw_status status = tls_files_check(files, &checked, &error);
    if (status == SW_OK) status = tls_identity_load(&checked, role, now_s, &identity, &error);
    return status;
}

static sw_status load(const char *with_crl) {
    return load_at(&(struct tls_files){key, cert, ca, with_crl}, TLS_SERVER, now());
}

static void expect_taken(sw_status status) {
    cr_assert_eq(status, SW_OK, "%s", error.message);
}

/* The error names the file, and what is wrong with it. */
static void expect_refused(sw_status status, const char *file, const char *why) {
    cr_assert_eq(status, SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, file), "%s", error.message);
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
}

static void write_text(const char *path, char *text) {
    cert_write(path, (const char *const[]){text, NULL});
    free(text);
}

static void write_texts(const char *path, char *one, char *two, char *three) {
    cert_write(path, (const char *const[]){one, two, three, NULL});
    free(one);
    free(two);
    free(three);
}

Test(tls_identity, key_certificate_and_ca_that_fit_are_taken) {
    expect_taken(load(NULL));
    cr_assert_str_eq(identity->name, "spiffe://job.example/stage/3");
    cr_assert_str_eq(identity->issuer, "CN = root");
    cr_assert_eq(strlen(identity->fingerprint), 64);
    cr_assert(identity->not_before_s < now() && identity->not_after_s > now());
}

Test(tls_identity, without_a_spiffe_id_it_is_called_by_its_dns_name) {
    cert_free(leaf);
    leaf = cert_leaf(root, NULL);
    cert_write_folder(folder, leaf, NULL);
    expect_taken(load(NULL));
    cr_assert_str_eq(identity->name, "localhost");
}

Test(tls_identity, one_bundle_of_all_is_taken_in_any_order) {
    const struct tls_files bundle = {.cert = cert};
    write_texts(cert, cert_key_pem(leaf), cert_pem(leaf), cert_pem(root));
    expect_taken(load_at(&bundle, TLS_SERVER, now()));
    tls_identity_unref(identity);
    write_texts(cert, cert_pem(root), cert_pem(leaf), cert_key_pem(leaf));
    expect_taken(load_at(&bundle, TLS_SERVER, now()));
    cr_assert_eq(strstr(identity->chain_pem, "-----BEGIN"), identity->chain_pem);
    cr_assert_not_null(strstr(identity->roots_pem, "-----BEGIN CERTIFICATE"));
}

Test(tls_identity, a_bundle_of_key_and_chain_goes_with_a_ca_of_its_own) {
    write_texts(cert, cert_pem(leaf), cert_key_pem(leaf), NULL);
    expect_taken(load_at(&(struct tls_files){cert, cert, ca, NULL}, TLS_CLIENT, now()));
}

Test(tls_identity, what_the_others_need_must_be_given) {
    expect_refused(load_at(&(struct tls_files){.key = key, .ca = ca}, TLS_SERVER, now()), "--tls-cert",
                   "missing");
    expect_refused(load_at(&(struct tls_files){.cert = cert, .ca = ca}, TLS_SERVER, now()), "--tls-key",
                   "missing");
    expect_refused(load_at(&(struct tls_files){.cert = cert, .key = key}, TLS_SERVER, now()), "--tls-ca",
                   "missing");
    cr_assert_not(tls_files_given(&(struct tls_files){.key = "", .crl = NULL}));
}

Test(tls_identity, a_file_that_cannot_be_read_is_named) {
    unlink(key);
    expect_refused(load(NULL), key, "No such file");
    cert_write(key, (const char *const[]){NULL});
    expect_refused(load(NULL), key, "is empty");
    unlink(key);
    cr_assert_eq(mkdir(key, 0700), 0);
    expect_refused(load(NULL), key, "is a folder");
    rmdir(key);
    cr_assert_eq(mkfifo(key, 0600), 0);
    expect_refused(load(NULL), key, "no regular file");
    unlink(key);
    cr_assert_eq(truncate(cert, (2 << 20)), 0);
    expect_refused(load(NULL), cert, "larger than 1 MiB");
}

Test(tls_identity, what_is_no_pem_or_not_whole_is_named) {
    cert_write(cert, (const char *const[]){"hello\n", NULL});
    expect_refused(load(NULL), cert, "has no certificate");
    char *half = cert_pem(leaf);
    half[strlen(half) / 2] = 0;
    write_text(cert, half);
    expect_refused(load(NULL), cert, "certificate 1 is broken");
    cert_write_folder(folder, leaf, root);
    cert_write(key, (const char *const[]){"hello\n", NULL});
    expect_refused(load(NULL), key, "has no private key");
    cert_write_folder(folder, leaf, root);
    cert_write(ca, (const char *const[]){"hello\n", NULL});
    expect_refused(load(NULL), ca, "has no certificate");
}

Test(tls_identity, a_key_with_a_password_is_refused_with_what_to_do) {
    write_text(key, cert_key_pem_with_password(leaf, "secret"));
    expect_refused(load(NULL), key, "openssl pkey");
}

Test(tls_identity, a_key_of_another_certificate_is_refused) {
    struct cert *other = cert_leaf(root, "spiffe://job.example/stage/3");
    write_text(key, cert_key_pem(other));
    cert_free(other);
    expect_refused(load(NULL), key, "does not belong to the certificate");
    cr_assert_not_null(strstr(error.message, cert), "%s", error.message);
}

Test(tls_identity, dates_must_hold) {
    expect_refused(load_at(&(struct tls_files){key, cert, ca, NULL}, TLS_SERVER, now() + 2 * DAY_S), cert,
                   "has expired on");
    expect_refused(load_at(&(struct tls_files){key, cert, ca, NULL}, TLS_SERVER, now() - DAY_S), cert,
                   "begins on");
    struct cert *old =
        cert_make(&(struct cert_options){.name = "old", .is_ca = true, .from_s = -20, .until_s = -10}, NULL);
    write_text(ca, cert_pem(old));
    expect_refused(load(NULL), ca, "no CA in it is valid now");
    write_texts(ca, cert_pem(old), cert_pem(root), NULL);
    cert_free(old);
    expect_taken(load(NULL));
}

static struct cert *intermediate_of(const struct cert *issuer) {
    return cert_make(&(struct cert_options){.name = "between", .is_ca = true}, issuer);
}

Test(tls_identity, a_chain_is_brought_in_order_and_must_be_one) {
    struct cert *between = intermediate_of(root), *low = cert_leaf(between, NULL), *other = cert_ca("other");
    cert_write_folder(folder, low, NULL);
    write_texts(cert, cert_pem(root), cert_pem(between), cert_pem(low));
    expect_taken(load(NULL));
    char *first = cert_pem(low);
    cr_assert_eq(strncmp(identity->chain_pem, first, strlen(first)), 0);
    free(first);
    write_texts(cert, cert_pem(low), cert_pem(other), NULL);
    expect_refused(load(NULL), cert, "certificate 2 (CN = other) does not belong");
    cert_free(between);
    cert_free(low);
    cert_free(other);
}

Test(tls_identity, the_ca_file_has_cas_only) {
    write_texts(ca, cert_pem(root), cert_pem(leaf), NULL);
    expect_refused(load(NULL), ca, "is no CA's");
}

Test(tls_identity, a_certificate_must_be_good_for_its_role) {
    struct cert *client = cert_make(&(struct cert_options){.name = "c", .usage = "clientAuth"}, root);
    cert_write_folder(folder, client, NULL);
    cert_free(client);
    expect_refused(load(NULL), cert, "serverAuth");
    expect_taken(load_at(&(struct tls_files){key, cert, ca, NULL}, TLS_CLIENT, now()));
}

Test(tls_identity, a_key_that_openssl_would_not_use_is_refused_before) {
    struct cert *weak = cert_make(&(struct cert_options){.name = "weak", .rsa_bits = 1024}, root);
    cert_write_folder(folder, weak, NULL);
    cert_free(weak);
    expect_refused(load(NULL), cert, "key too small");
}

/* ---- peers ---- */

static sw_status check_at(const struct cert *peer, int64_t now_s) {
    char *pem = cert_pem(peer);
    sw_status status = tls_identity_check_peer(identity, pem, now_s, &error);
    free(pem);
    return status;
}

static void expect_cut_off(sw_status status, const char *why) {
    cr_assert_eq(status, SW_UNAUTHENTICATED);
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
}

Test(tls_identity, a_peer_whose_dates_have_passed_is_cut_off) {
    expect_taken(load(NULL));
    cr_assert_eq(check_at(leaf, now()), SW_OK);
    expect_cut_off(check_at(leaf, now() + 2 * DAY_S), "has expired on");
    expect_cut_off(check_at(leaf, now() - DAY_S), "begins on");
    cr_assert_eq(tls_identity_check_peer(identity, "no PEM", now(), &error), SW_UNAUTHENTICATED);
}

Test(tls_identity, a_revoked_peer_is_cut_off_and_its_neighbour_is_not) {
    struct cert *other = cert_leaf(root, NULL);
    write_text(crl, cert_crl_pem(root, (const struct cert *const[]){other}, 1, 0, 0));
    expect_taken(load(crl));
    cr_assert_eq(check_at(leaf, now()), SW_OK, "%s", error.message);
    expect_cut_off(check_at(other, now()), "has been revoked");
    cert_free(other);
}

Test(tls_identity, where_lists_are_asked_for_a_missing_or_expired_one_refuses) {
    struct cert *second = cert_ca("second"), *theirs = cert_leaf(second, NULL);
    write_texts(ca, cert_pem(root), cert_pem(second), NULL);
    write_text(crl, cert_crl_pem(root, NULL, 0, -100, 3600));
    expect_taken(load(crl));
    cr_assert_eq(check_at(leaf, now()), SW_OK);
    expect_cut_off(check_at(theirs, now()), "no revocation list of its CA");
    expect_cut_off(check_at(leaf, now() + 7200), "revocation list has expired");
    cert_free(second);
    cert_free(theirs);
}

Test(tls_identity, a_list_that_is_not_current_or_not_a_cas_is_not_taken) {
    struct cert *namesake = cert_ca("root");
    write_text(crl, cert_crl_pem(root, NULL, 0, -200, -100));
    expect_refused(load(crl), crl, "has expired on");
    write_text(crl, cert_crl_pem(namesake, NULL, 0, 0, 0));
    expect_refused(load(crl), crl, "not signed by any of the CAs");
    write_text(crl, cert_pem(root));
    expect_refused(load(crl), crl, "has no revocation list");
    cert_free(namesake);
}

Test(tls_identity, a_list_counts_for_the_ca_that_signed_it_and_not_for_its_namesake) {
    struct cert *namesake = cert_ca("root"), *theirs = cert_leaf(namesake, NULL);
    write_texts(ca, cert_pem(root), cert_pem(namesake), NULL);
    write_text(crl, cert_crl_pem(root, NULL, 0, 0, 0));
    expect_taken(load(crl));
    cr_assert_eq(check_at(leaf, now()), SW_OK);
    expect_cut_off(check_at(theirs, now()), "no revocation list of its CA");
    tls_identity_unref(identity);
    write_texts(crl, cert_crl_pem(root, NULL, 0, 0, 0), cert_crl_pem(namesake, NULL, 0, 0, 0), NULL);
    expect_taken(load(crl));
    cr_assert_eq(check_at(theirs, now()), SW_OK);
    cert_free(namesake);
    cert_free(theirs);
}

Test(tls_identity, a_ca_of_ours_that_is_revoked_takes_its_peers_along) {
    struct cert *between = intermediate_of(root), *low = cert_leaf(between, NULL);
    write_texts(ca, cert_pem(root), cert_pem(between), NULL);
    write_texts(crl, cert_crl_pem(root, NULL, 0, 0, 0), cert_crl_pem(between, NULL, 0, 0, 0), NULL);
    expect_taken(load(crl));
    cr_assert_eq(check_at(low, now()), SW_OK, "%s", error.message);
    tls_identity_unref(identity);
    write_texts(crl, cert_crl_pem(root, (const struct cert *const[]){between}, 1, 0, 0),
                cert_crl_pem(between, NULL, 0, 0, 0), NULL);
    expect_taken(load(crl));
    expect_cut_off(check_at(low, now()), "CN = between has been revoked");
    cert_free(between);
    cert_free(low);
}

Test(tls_identity, lists_may_lie_in_a_folder) {
    char file[128];
    cr_assert_eq(mkdir(crl, 0700), 0);
    expect_refused(load(crl), crl, "without a file");
    snprintf(file, sizeof file, "%s/root.r0", crl);
    write_text(file, cert_crl_pem(root, (const struct cert *const[]){leaf}, 1, 0, 0));
    expect_taken(load(crl));
    expect_cut_off(check_at(leaf, now()), "has been revoked");
    unlink(file);
}

Test(tls_identity, two_that_hold_the_same_are_known_to) {
    struct tls_identity *first;
    expect_taken(load(NULL));
    first = identity;
    expect_taken(load(NULL));
    cr_assert_eq(memcmp(first->content, identity->content, sizeof first->content), 0);
    tls_identity_unref(identity);
    write_text(crl, cert_crl_pem(root, NULL, 0, 0, 0));
    expect_taken(load(crl));
    cr_assert_neq(memcmp(first->content, identity->content, sizeof first->content), 0);
    tls_identity_unref(first);
}
