/* mTLS between daemon and client: what is taken, and what is refused, in which words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/grpc_security.h>

#include "proto/wire/messages.h"
#include "tests/support/raw.h"
#include "tests/support/test.h"
#include "tests/support/tls_stand.h"

static struct stand stand;
static sw_error error;

static void setup(void) {
    stand_open(&stand, false);
}
static void setup_with_crl(void) {
    stand_open(&stand, true);
}
static void teardown(void) {
    stand_close(&stand);
}
TestSuite(tls, .init = setup, .fini = teardown, .timeout = 60);
TestSuite(tls_crl, .init = setup_with_crl, .fini = teardown, .timeout = 60);

static sw_status pull(sw_client *client, uint64_t step) {
    const sw_pull pull = {.address = {.channel = "train", .step = step}, .no_wait = true};
    sw_metrics *metrics;
    sw_status status = sw_client_get_metrics(client, &pull, &metrics, &error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    return status;
}

static void publish(uint64_t step) {
    cr_assert_eq(bench_publish_by(stand.local, "train", step, 7, &error), SW_OK, "%s", error.message);
}

static void expect_words(const char *words) {
    cr_assert_not_null(strstr(error.message, words), "%s", error.message);
}

/* ---- what is taken ---- */

Test(tls, a_pull_with_certificates_on_both_sides_works) {
    sw_client *client = stand_client(&stand);
    publish(1);
    cr_assert_eq(pull(client, 1), SW_OK, "%s", error.message);
    sw_client_close(client);
}

Test(tls, the_server_may_be_named_by_its_spiffe_id_or_a_dns_name) {
    static const char *const expected[] = {STAND_SERVER, "localhost", ""};
    publish(1);
    for (size_t i = 0; i < 3; i++) {
        sw_client_options options = stand_options(&stand);
        sw_client *client;
        options.peer_identity = expected[i];
        cr_assert_eq(sw_client_open(stand.target, &options, &client, &error), SW_OK, "%s", error.message);
        cr_assert_eq(pull(client, 1), SW_OK, "%s: %s", expected[i], error.message);
        sw_client_close(client);
    }
}

Test(tls, info_shows_whose_the_certificate_is_and_until_when) {
    sw_info *info = stand_info(&stand);
    cr_assert(info->security.tls);
    cr_assert_not(info->security.insecure_plaintext);
    cr_assert_str_eq(info->security.name, STAND_SERVER);
    cr_assert_str_eq(info->security.issuer, "CN = ca");
    cr_assert_eq(info->security.taken, 1);
    cr_assert_gt(info->security.not_after_unix_s, info->security.taken_unix_s);
    cr_assert_str_eq(info->security.error, "");
    sw_info_destroy(info);
}

Test(tls, an_empty_key_file_leaves_the_old_certificate_and_info_says_so) {
    char path[96];
    sw_client *client = stand_client(&stand);
    snprintf(path, sizeof path, "%s/tls.key", stand.server);
    publish(1);
    cert_write(path, (const char *const[]){NULL});
    stand_await_failed(&stand, 1);
    cr_assert_eq(pull(client, 1), SW_OK, "%s", error.message);
    sw_client_close(client);
    client = stand_client(&stand);
    cr_assert_eq(pull(client, 1), SW_OK, "a new handshake works, too: %s", error.message);
    sw_client_close(client);
    sw_info *info = stand_info(&stand);
    cr_assert_not_null(strstr(info->security.error, path), "%s", info->security.error);
    cr_assert_not_null(strstr(info->security.error, "is empty"), "%s", info->security.error);
    cr_assert_neq(info->security.failed_unix_s, 0);
    cr_assert_str_eq(info->security.name, STAND_SERVER);
    sw_info_destroy(info);
}

/* ---- what a client refuses ---- */

static void expect_refusal(const char *target, const sw_client_options *options, const char *words) {
    sw_client *client;
    sw_client_options short_ones = *options;
    short_ones.timeout_ms = 2000;
    cr_assert_eq(sw_client_open(target, &short_ones, &client, &error), SW_OK, "%s", error.message);
    cr_assert_eq(pull(client, 1), SW_UNAVAILABLE, "%s", error.message);
    expect_words(words);
    sw_client_close(client);
}

Test(tls, a_server_of_another_name_is_refused) {
    sw_client_options options = stand_options(&stand);
    options.peer_identity = "spiffe://job.example/stage/30";
    expect_refusal(stand.target, &options, "wrong name: the server's certificate is for " STAND_SERVER);
    options.peer_identity = "stage-3.example";
    expect_refusal(stand.target, &options, "and not for stage-3.example");
}

static void expect_dummy_refused(struct cert *cert, const struct cert *ca, const char *peer_identity,
                                 const char *words) {
    struct tls_dummy *dummy = tls_dummy_open(cert, ca);
    sw_client_options options = stand_options(&stand);
    options.peer_identity = peer_identity;
    expect_refusal(tls_dummy_target(dummy), &options, words);
    tls_dummy_close(dummy);
    cert_free(cert);
}

Test(tls, a_server_with_two_spiffe_ids_is_refused) {
    const struct cert_options two = {
        .name = "two", .uris = (const char *const[]){STAND_SERVER, "spiffe://job.example/stage/4", NULL}};
    expect_dummy_refused(cert_make(&two, stand.ca), stand.ca, STAND_SERVER, "several URI names");
}

Test(tls, an_expired_server_is_refused) {
    const struct cert_options old = {
        .name = "old", .ips = (const char *const[]){"127.0.0.1", NULL}, .from_s = -20, .until_s = -10};
    expect_dummy_refused(cert_make(&old, stand.ca), stand.ca, NULL, "or it has expired");
}

Test(tls, a_server_of_an_unknown_ca_is_refused) {
    struct cert *other = cert_ca("other");
    expect_dummy_refused(cert_leaf(other, STAND_SERVER), other, NULL, "none of the CAs in tls_ca");
    cert_free(other);
}

Test(tls, a_revoked_server_is_refused) {
    char list_path[96];
    snprintf(list_path, sizeof list_path, "%s/crl.pem", stand.client);
    struct cert *server = cert_leaf(stand.ca, STAND_SERVER);
    char *list = cert_crl_pem(stand.ca, (const struct cert *const[]){server}, 1, 0, 0);
    cert_write(list_path, (const char *const[]){list, NULL});
    free(list);
    struct tls_dummy *dummy = tls_dummy_open(server, stand.ca);
    sw_client_options options = stand_options(&stand);
    options.tls_crl = list_path;
    expect_refusal(tls_dummy_target(dummy), &options, "has been revoked by its CA");
    tls_dummy_close(dummy);
    cert_free(server);
}

Test(tls, plaintext_to_a_tls_port_is_told_to_use_certificates) {
    sw_client_options options;
    sw_client_options_init(&options);
    expect_refusal(stand.target, &options, "give certificates (--tls-cert, --tls-key, --tls-ca)");
}

Test(tls, certificates_that_do_not_fit_are_refused_before_anything_is_sent) {
    sw_client_options options = stand_options(&stand);
    sw_client *client;
    options.tls_key = options.tls_ca;
    cr_assert_eq(sw_client_open(stand.target, &options, &client, &error), SW_INVALID_ARGUMENT);
    expect_words("has no private key");
    options = stand_options(&stand);
    options.peer_identity = "spiffe://job.example";
    cr_assert_eq(sw_client_open(stand.target, &options, &client, &error), SW_INVALID_ARGUMENT);
    expect_words("peer_identity 'spiffe://job.example' is neither");
    sw_client_options_init(&options);
    options.peer_identity = STAND_SERVER;
    cr_assert_eq(sw_client_open(stand.target, &options, &client, &error), SW_INVALID_ARGUMENT);
    expect_words("without certificates");
}

/* ---- what a server refuses ---- */

static sw_status ask(struct raw *raw, bool *ret_reused) {
    sw_buffer *request;
    cr_assert_eq(stage_info_request_encode("", &request, &error), SW_OK);
    struct raw_call *call = raw_start(raw, RAW_STAGE("GetStageInfo"), request, true, 5000);
    bool came = raw_headers(call);
    if (ret_reused) *ret_reused = came && raw_session_reused(call);
    return raw_finish(call, &error);
}

static sw_status ask_with(const struct raw_tls *tls) {
    struct raw *raw = raw_open_tls(stand.target, tls);
    sw_status status = ask(raw, NULL);
    raw_close(raw);
    return status;
}

Test(tls, any_grpc_client_with_a_certificate_of_the_ca_is_served) {
    cr_assert_eq(ask_with(&(struct raw_tls){.cert = stand.client_cert, .ca = stand.ca}), SW_OK, "%s",
                 error.message);
}

Test(tls, a_client_without_a_certificate_is_refused) {
    cr_assert_eq(ask_with(&(struct raw_tls){.ca = stand.ca}), SW_UNAVAILABLE, "%s", error.message);
}

Test(tls, a_client_of_an_unknown_ca_is_refused_and_told_so) {
    struct cert *other = cert_ca("other"), *leaf = cert_leaf(other, STAND_CLIENT);
    cert_write_folder(stand.client, leaf, NULL);
    sw_client_options options = stand_options(&stand);
    expect_refusal(stand.target, &options, "doesn't accept this client's certificate");
    cert_free(other);
    cert_free(leaf);
}

Test(tls, an_expired_client_is_refused) {
    struct cert *old =
        cert_make(&(struct cert_options){.name = "old", .from_s = -20, .until_s = -10}, stand.ca);
    cr_assert_eq(ask_with(&(struct raw_tls){.cert = old, .ca = stand.ca}), SW_UNAVAILABLE, "%s",
                 error.message);
    cert_free(old);
}

/* ---- revocation ---- */

static void revoke_client(void) {
    char *list = cert_crl_pem(stand.ca, (const struct cert *const[]){stand.client_cert}, 1, 0, 0);
    cert_write(stand.crl, (const char *const[]){list, NULL});
    free(list);
    stand_await_taken(&stand, 2);
}

Test(tls_crl, a_revoked_client_is_refused_on_new_old_and_resumed_connections) {
    const struct raw_tls tls = {
        .cert = stand.client_cert, .ca = stand.ca, .sessions = grpc_ssl_session_cache_create_lru(8)};
    bool reused = false;
    struct raw *old = raw_open_tls(stand.target, &tls);
    cr_assert_eq(ask(old, NULL), SW_OK, "%s", error.message);
    struct raw *second = raw_open_tls(stand.target, &tls);
    cr_assert_eq(ask(second, &reused), SW_OK, "%s", error.message);
    cr_assert(reused, "sessions are resumed at all");
    raw_close(second);
    revoke_client();
    cr_assert_eq(ask(old, NULL), SW_UNAUTHENTICATED, "%s", error.message);
    expect_words("has been revoked");
    cr_assert_eq(ask_with(&(struct raw_tls){.cert = stand.client_cert, .ca = stand.ca}), SW_UNAUTHENTICATED);
    expect_words("has been revoked");
    struct raw *resumed = raw_open_tls(stand.target, &tls);
    cr_assert_eq(ask(resumed, NULL), SW_UNAUTHENTICATED, "%s", error.message);
    expect_words("has been revoked");
    raw_close(resumed);
    raw_close(old);
    grpc_ssl_session_cache_destroy(tls.sessions);
}

Test(tls_crl, another_client_of_the_same_ca_goes_on) {
    struct cert *other = cert_leaf(stand.ca, "spiffe://job.example/stage/1");
    const struct raw_tls tls = {.cert = other, .ca = stand.ca};
    revoke_client();
    cr_assert_eq(ask_with(&tls), SW_OK, "%s", error.message);
    cert_free(other);
}

Test(tls, a_client_with_two_spiffe_ids_is_refused) {
    const struct cert_options two = {
        .name = "two", .uris = (const char *const[]){STAND_CLIENT, "spiffe://job.example/stage/1", NULL}};
    struct cert *cert = cert_make(&two, stand.ca);
    cr_assert_eq(ask_with(&(struct raw_tls){.cert = cert, .ca = stand.ca}), SW_UNAUTHENTICATED, "%s",
                 error.message);
    expect_words("several URI names");
    cert_free(cert);
}
