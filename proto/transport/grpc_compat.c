#include "proto/transport/grpc_compat.h"

#include <stdlib.h>
#include <string.h>

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/string_util.h>

#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/transport/handover.h"
#include "proto/transport/peer_identity.h"
#include "proto/transport/tls_identity.h"
#include "proto/transport/tls_source.h"

/* ---- channels ---- */

grpc_channel *grpc_compat_channel(const char *target, const grpc_channel_args *args) {
    grpc_channel_credentials *plaintext = grpc_insecure_credentials_create();
    grpc_channel *channel = grpc_channel_create(target, plaintext, args);
    grpc_channel_credentials_release(plaintext);
    return channel;
}

grpc_channel *grpc_compat_lame_channel(void) {
    return grpc_lame_client_channel_create(NULL, GRPC_STATUS_UNAVAILABLE, "this channel leads nowhere");
}

/* ---- a client's certificates ---- */

/* Checks servers for one channel; freed by gRPC, a moment after the channel. */
struct verifier {
    grpc_tls_certificate_verifier_external external;
    struct tls_identity *identity;
    char *expected;
};

static sw_status check_server(const struct verifier *verifier,
                              const grpc_tls_custom_verification_check_request *request, sw_error *error) {
    const struct peer_names names = {
        .uris = (const char *const *)request->peer_info.san_names.uri_names,
        .uri_count = request->peer_info.san_names.uri_names_size,
        .dns = (const char *const *)request->peer_info.san_names.dns_names,
        .dns_count = request->peer_info.san_names.dns_names_size,
        .ips = (const char *const *)request->peer_info.san_names.ip_names,
        .ip_count = request->peer_info.san_names.ip_names_size,
    };
    const char *pem = request->peer_info.peer_cert ? request->peer_info.peer_cert : "";
    sw_status status = peer_names_check(&names, verifier->expected, error);
    if (status != SW_OK) return status;
    return tls_identity_check_peer(verifier->identity, pem, clock_system.unix_ns(NULL) / 1000000000, error);
}

static int verify(void *context, grpc_tls_custom_verification_check_request *request,
                  grpc_tls_on_custom_verification_check_done_cb later, void *later_context,
                  grpc_status_code *ret_status, char **ret_details) {
    (void)later, (void)later_context;
    sw_error error;
    handover_acquire(context);
    sw_status status = check_server(context, request, &error);
    *ret_status = (grpc_status_code)status;
    if (status != SW_OK) *ret_details = gpr_strdup(error.message);
    return 1;
}

static void forget_check(void *context, grpc_tls_custom_verification_check_request *request) {
    (void)context, (void)request;
}

static void destroy_verifier(void *context) {
    struct verifier *verifier = context;
    handover_acquire(verifier);
    tls_identity_unref(verifier->identity);
    gpr_free(verifier->expected);
    gpr_free(verifier);
}

static grpc_tls_certificate_verifier *make_verifier(struct tls_identity *identity, const char *expected) {
    struct verifier *verifier = gpr_zalloc(sizeof *verifier);
    verifier->external =
        (grpc_tls_certificate_verifier_external){verifier, verify, forget_check, destroy_verifier};
    verifier->identity = tls_identity_ref(identity);
    verifier->expected = gpr_strdup(expected);
    handover_release(verifier);
    return grpc_tls_certificate_verifier_external_create(&verifier->external);
}

static grpc_tls_certificate_provider *make_provider(const struct tls_identity *identity) {
    grpc_tls_identity_pairs *pair = grpc_tls_identity_pairs_create();
    grpc_tls_identity_pairs_add_pair(pair, identity->key_pem, identity->chain_pem);
    return grpc_tls_certificate_provider_static_data_create(identity->roots_pem, pair);
}

grpc_channel *grpc_compat_tls_channel(const char *target, const grpc_channel_args *args,
                                      struct tls_identity *identity, const char *expected) {
    grpc_tls_credentials_options *options = grpc_tls_credentials_options_create();
    grpc_tls_certificate_provider *provider = make_provider(identity);
    grpc_tls_certificate_verifier *verifier = make_verifier(identity, expected);
    grpc_tls_credentials_options_set_certificate_provider(options, provider);
    grpc_tls_credentials_options_watch_root_certs(options);
    grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
    grpc_tls_credentials_options_set_certificate_verifier(options, verifier);
    /* gRPC would look for the host in a certificate that may have a SPIFFE id alone; the verifier does. */
    grpc_tls_credentials_options_set_check_call_host(options, 0);
    grpc_channel_credentials *credentials = grpc_tls_credentials_create(options);
    grpc_channel *channel = grpc_channel_create(target, credentials, args);
    grpc_channel_credentials_release(credentials);
    grpc_tls_certificate_verifier_release(verifier);
    grpc_tls_certificate_provider_release(provider);
    return channel;
}

/* ---- a server's certificates ---- */

/* At the start and before each handshake, on gRPC's thread, one at a time a listener. */
static grpc_ssl_certificate_config_reload_status fetch(void *context,
                                                       grpc_ssl_server_certificate_config **ret_config) {
    struct grpc_compat_tls *tls = context;
    uint64_t generation = tls_source_generation(tls->source);
    if (generation == tls->seen) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    tls->seen = generation;
    struct tls_identity *identity = tls_source_current(tls->source);
    const grpc_ssl_pem_key_cert_pair pair = {identity->key_pem, identity->chain_pem};
    *ret_config = grpc_ssl_server_certificate_config_create(identity->roots_pem, &pair, 1);
    tls_identity_unref(identity);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

static grpc_server_credentials *server_credentials(struct grpc_compat_tls *tls) {
    if (!tls->source) return grpc_insecure_server_credentials_create();
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, fetch, tls));
}

int grpc_compat_listen(grpc_server *server, const char *address, struct grpc_compat_tls *tls) {
    grpc_server_credentials *credentials = server_credentials(tls);
    int port = grpc_server_add_http2_port(server, address, credentials);
    grpc_server_credentials_release(credentials);
    return port;
}

void grpc_compat_tls13_only(void) {
    setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 0);
}

/* ---- the rest ---- */

/* gRPC calls an error what we may well retry (a refused connection), so nothing of it is louder than a
 * warning. */
static void log_ours(gpr_log_func_args *args) {
    enum log_level level = args->severity == GPR_LOG_SEVERITY_ERROR ? LOG_WARN : LOG_DEBUG;
    if (log_enabled(level)) log_at(level, "grpc", LOG_TEXT("message", args->message));
}

void grpc_compat_log_to_ours(void) {
    gpr_set_log_function(log_ours);
}

const char *grpc_compat_version(void) {
    return grpc_version_string();
}
