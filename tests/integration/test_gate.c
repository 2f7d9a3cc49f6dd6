/* Who a certificate makes one, what that one may do, and what becomes of it when the certificate no longer
 * stands: over mTLS, against the daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "tests/support/certs.h"
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#define SERVER  "spiffe://job.example/last"
#define TRAINER "spiffe://job.example/trainer/0"
#define BOARD   "spiffe://job.example/board"

static char folder[] = "/tmp/stagewire-gate-XXXXXX", path[128];
static struct cert *ca, *server, *shown;
static struct daemon *endpoint;
static sw_client *client;
static sw_error error;

/* ---- files ---- */

static const char *file(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    cert_replace(file(name), (const char *const[]){text, NULL});
}

/* Key, certificate and CA in one. */
static void write_bundle(const char *name, const struct cert *leaf) {
    char *key = cert_key_pem(leaf), *own = cert_pem(leaf), *root = cert_pem(ca);
    cert_replace(file(name), (const char *const[]){key, own, root, NULL});
    free(key), free(own), free(root);
}

static void take_back(const struct cert *leaf) {
    char *list = cert_crl_pem(ca, &leaf, leaf ? 1 : 0, 0, 0);
    write_file("crl", list);
    free(list);
}

/* ---- both ends ---- */

static void start(const char *access) {
    char bundle[128], crl[128], table[128], socket[sizeof path + sizeof "unix:"];
    strcpy(bundle, file("server.pem"));
    strcpy(crl, file("crl"));
    snprintf(socket, sizeof socket, "unix:%s", file("s"));
    strcpy(table, file("access"));
    if (access) write_file("access", access);
    const char *args[] = {"--listen",   "127.0.0.1:0", "--listen",  socket,     "--run-id",
                          "run-a",      "--stage",     "3",         "--stages", "4",
                          "--tls-cert", bundle,        "--tls-crl", crl,        access ? "--access" : NULL,
                          table,        NULL};
    endpoint = daemon_start(args);
    cr_assert_not_null(endpoint);
}

static void open_with(const char *bundle, const char *consumer_id) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.tls_cert = bundle;
    options.peer_identity = bundle ? SERVER : NULL;
    options.consumer_id = consumer_id;
    options.timeout_ms = 20000;
    cr_assert_eq(sw_client_open(daemon_target(endpoint, bundle ? 0 : 1), &options, &client, &error), SW_OK,
                 "%s", error.message);
}

static void come_with(struct cert *leaf, const char *consumer_id) {
    shown = leaf;
    write_bundle("client.pem", leaf);
    open_with(file("client.pem"), consumer_id);
}

static void come_as(const char *spiffe_id, const char *consumer_id) {
    come_with(cert_leaf(ca, spiffe_id), consumer_id);
}

static void leave(void) {
    sw_client_close(client);
    cert_free(shown);
    client = NULL;
    shown = NULL;
}

static void setup(void) {
    cr_assert_not_null(mkdtemp(folder));
    ca = cert_ca("root");
    server = cert_leaf(ca, SERVER);
    write_bundle("server.pem", server);
    take_back(NULL);
}

static void teardown(void) {
    static const char *const files[] = {"server.pem", "client.pem", "crl", "access", "s", "s.lock"};
    leave();
    if (endpoint) daemon_kill(endpoint);
    daemon_destroy(endpoint);
    cert_free(ca);
    cert_free(server);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(file(files[i]));
    rmdir(folder);
}

TestSuite(gate, .init = setup, .fini = teardown, .timeout = 60);

/* ---- what they do ---- */

static sw_status publish(void) {
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer(7)}}, 1);
    sw_address at = {.channel = "train", .step = 1};
    return sw_publish_metrics(sw_client_publisher(client), &at, &metrics, 0, NULL, &error);
}

static void publish_locally(void) {
    open_with(NULL, NULL);
    cr_assert_eq(publish(), SW_OK, "%s", error.message);
    leave();
}

static sw_status pull(void) {
    sw_metrics *metrics;
    sw_pull asked = {.address = {.channel = "train", .step = 1}, .no_wait = true};
    sw_status status = sw_client_get_metrics(client, &asked, &metrics, &error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    return status;
}

static sw_status watch(void) {
    sw_watch *watching;
    sw_status status = sw_client_watch(client, NULL, 0, SW_WATCH_NEW, NULL, 0, 0, &watching, &error);
    if (status == SW_OK) sw_watch_close(watching);
    return status;
}

static sw_status exchange(void) {
    sw_object *object;
    sw_exchange asked = {.address = {.channel = "o", .step = 1, .has_stage = true}, .stage_count = 1};
    sw_status status = sw_client_exchange(client, &asked, &object, &error);
    if (status == SW_OK) sw_object_destroy(object);
    return status;
}

static void passes(sw_status status) {
    cr_assert_eq(status, SW_OK, "%s", error.message);
}

static void refused(sw_status status, sw_status code, const char *identity, const char *word) {
    cr_assert_eq(status, code, "%s: %s", sw_status_name(status), error.message);
    cr_assert(strstr(error.message, identity) && strstr(error.message, word), "no %s and %s in: %s", identity,
              word, error.message);
}

static void denied(sw_status status, const char *identity, const char *right) {
    refused(status, SW_PERMISSION_DENIED, identity, right);
}

/* ---- rights ---- */

Test(gate, without_a_table_a_certificate_reads_under_any_consumer_id_and_publishes_nothing) {
    start(NULL);
    publish_locally();
    come_as(TRAINER, "stage-0");
    passes(pull());
    passes(watch());
    passes(exchange());
    denied(publish(), TRAINER, "publish");
}

Test(gate, with_a_table_each_has_the_rights_of_its_lines) {
    start("spiffe://job.example/trainer/ pull contribute as stage-*\n" BOARD " watch\n" SERVER " publish\n");
    publish_locally();
    come_as(TRAINER, "stage-0");
    passes(pull());
    passes(exchange());
    denied(watch(), TRAINER, "watch");
    leave();
    come_as(TRAINER, "board");
    denied(pull(), TRAINER, "consumer \"board\"");
    leave();
    come_as(BOARD, NULL);
    passes(watch());
    denied(pull(), BOARD, "pull");
    denied(publish(), BOARD, "publish");
    leave();
    come_as(SERVER, NULL);
    passes(publish());
    denied(pull(), SERVER, "pull");
    leave();
    come_as("spiffe://job.example/trainers", NULL);
    denied(pull(), "spiffe://job.example/trainers", "nothing");
}

Test(gate, a_dns_name_is_an_identity_where_there_is_no_spiffe_id) {
    static const char *const names[] = {"other.job.example", "board.job.example", NULL};
    start("board.job.example watch\nlocalhost pull\n");
    come_with(cert_make(&(struct cert_options){.name = "board", .dns = names}, ca), NULL);
    passes(watch());
    denied(pull(), "other.job.example", "pull");
    leave();
    come_as(BOARD, NULL); /* it is localhost, too */
    denied(pull(), BOARD, "pull");
}

Test(gate, info_tells_the_caller_who_it_is) {
    sw_info *info;
    start(TRAINER " pull as stage-0\n");
    come_as(TRAINER, NULL);
    passes(sw_client_info(client, 0, &info, &error));
    cr_assert_str_eq(info->caller, TRAINER);
    cr_assert_eq(info->right_count, 1);
    cr_assert_str_eq(info->rights[0], "pull");
    cr_assert_eq(info->consumer_id_count, 1);
    cr_assert_str_eq(info->consumer_ids[0], "stage-0");
    sw_info_destroy(info);
}

/* ---- certificates that don't stand ---- */

Test(gate, two_spiffe_ids_are_nobody) {
    static const char *const two[] = {TRAINER, BOARD, NULL};
    start(NULL);
    come_with(cert_make(&(struct cert_options){.name = "two", .uris = two}, ca), NULL);
    refused(pull(), SW_UNAUTHENTICATED, "names nobody", "several URI names");
}

Test(gate, one_that_is_revoked_loses_its_next_call_and_others_do_not) {
    start(NULL);
    publish_locally();
    come_as(TRAINER, NULL);
    passes(pull());
    take_back(shown);
    while (pull() == SW_OK)
        ;
    refused(error.code, SW_UNAUTHENTICATED, "revoked", "");
    leave();
    come_as(BOARD, NULL);
    passes(pull());
}

Test(gate, one_that_expires_loses_its_next_call) {
    static const char *const uris[] = {TRAINER, NULL};
    start(NULL);
    publish_locally();
    come_with(cert_make(&(struct cert_options){.name = "t", .uris = uris, .from_s = -60, .until_s = 3}, ca),
              NULL);
    passes(pull());
    while (pull() == SW_OK)
        ;
    refused(error.code, SW_UNAUTHENTICATED, "expired", "");
}
