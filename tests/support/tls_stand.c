#include "tests/support/tls_stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include "tests/support/folder.h"
#include "tests/support/test.h"

static const char *const names[] = {"tls.key", "tls.crt", "ca.crt"};

static void make_folder(char *folder, const struct cert *leaf, const struct cert *ca) {
    strcpy(folder, "/tmp/stagewire-tls-XXXXXX");
    folder_make(folder);
    cert_write_folder(folder, leaf, ca);
}

static void write_empty_list(struct stand *stand) {
    char *list = cert_crl_pem(stand->ca, NULL, 0, 0, 0);
    cert_write(stand->crl, (const char *const[]){list, NULL});
    free(list);
}

void stand_open(struct stand *stand, bool with_crl) {
    char key[96], cert[96], ca[96];
    *stand = (struct stand){.ca = cert_ca("ca")};
    stand->server_cert = cert_leaf(stand->ca, STAND_SERVER);
    stand->client_cert = cert_leaf(stand->ca, STAND_CLIENT);
    make_folder(stand->server, stand->server_cert, stand->ca);
    make_folder(stand->client, stand->client_cert, stand->ca);
    snprintf(stand->crl, sizeof stand->crl, "%s/crl.pem", stand->server);
    snprintf(key, sizeof key, "%s/tls.key", stand->server);
    snprintf(cert, sizeof cert, "%s/tls.crt", stand->server);
    snprintf(ca, sizeof ca, "%s/ca.crt", stand->server);
    if (with_crl) write_empty_list(stand);
    const char *const more[] = {
        "--tls-key", key, "--tls-cert", cert, "--tls-ca", ca, with_crl ? "--tls-crl" : NULL,
        stand->crl,  NULL};
    bench_open(&stand->bench, more);
    stand->bench.more = NULL;
    stand->target = daemon_target(stand->bench.daemon, 0);
    stand->local = bench_client_of(&stand->bench, stand->bench.socket, 20000);
}

void stand_close(struct stand *stand) {
    sw_client_close(stand->local);
    bench_close(&stand->bench);
    folder_remove(stand->server);
    folder_remove(stand->client);
    cert_free(stand->ca);
    cert_free(stand->server_cert);
    cert_free(stand->client_cert);
}

sw_client_options stand_options(struct stand *stand) {
    static char paths[3][96];
    sw_client_options options;
    sw_client_options_init(&options);
    for (size_t i = 0; i < 3; i++) snprintf(paths[i], sizeof paths[i], "%s/%s", stand->client, names[i]);
    options.run_id = "run-a";
    options.timeout_ms = 20000;
    options.tls_key = paths[0];
    options.tls_cert = paths[1];
    options.tls_ca = paths[2];
    return options;
}

sw_client *stand_client(struct stand *stand) {
    const sw_client_options options = stand_options(stand);
    sw_client *client;
    sw_error error;
    cr_assert_eq(sw_client_open(stand->target, &options, &client, &error), SW_OK, "%s", error.message);
    return client;
}

sw_info *stand_info(struct stand *stand) {
    sw_info *info;
    sw_error error;
    cr_assert_eq(sw_client_info(stand->local, 0, &info, &error), SW_OK, "%s", error.message);
    return info;
}

static void await_at_least(struct stand *stand, uint64_t taken, uint64_t failed) {
    bool is_there = false;
    while (!is_there) {
        sw_info *info = stand_info(stand);
        is_there = info->security.taken >= taken && info->security.failed >= failed;
        sw_info_destroy(info);
    }
}

void stand_await_taken(struct stand *stand, uint64_t taken) {
    await_at_least(stand, taken, 0);
}

void stand_await_failed(struct stand *stand, uint64_t failed) {
    await_at_least(stand, 0, failed);
}

/* ---- a server of nothing ---- */

struct tls_dummy {
    grpc_server *server;
    grpc_completion_queue *queue;
    char target[32];
};

struct tls_dummy *tls_dummy_open(const struct cert *cert, const struct cert *ca) {
    grpc_init();
    struct tls_dummy *dummy = calloc(1, sizeof *dummy);
    char *key = cert_key_pem(cert), *pem = cert_pem(cert), *roots = cert_pem(ca);
    grpc_ssl_pem_key_cert_pair pair = {key, pem};
    grpc_server_credentials *credentials = grpc_ssl_server_credentials_create_ex(
        roots, &pair, 1, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, NULL);
    dummy->queue = grpc_completion_queue_create_for_next(NULL);
    dummy->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(dummy->server, dummy->queue, NULL);
    int port = grpc_server_add_http2_port(dummy->server, "127.0.0.1:0", credentials);
    cr_assert_gt(port, 0);
    snprintf(dummy->target, sizeof dummy->target, "127.0.0.1:%d", port);
    grpc_server_start(dummy->server);
    grpc_server_credentials_release(credentials);
    free(key);
    free(pem);
    free(roots);
    return dummy;
}

const char *tls_dummy_target(const struct tls_dummy *dummy) {
    return dummy->target;
}

void tls_dummy_close(struct tls_dummy *dummy) {
    const gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    grpc_server_shutdown_and_notify(dummy->server, dummy->queue, NULL);
    grpc_server_cancel_all_calls(dummy->server);
    grpc_completion_queue_next(dummy->queue, never, NULL);
    grpc_server_destroy(dummy->server);
    grpc_completion_queue_shutdown(dummy->queue);
    while (grpc_completion_queue_next(dummy->queue, never, NULL).type != GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(dummy->queue);
    free(dummy);
    grpc_shutdown();
}
