#include "client/rpc/connection.h"

#include <stdlib.h>
#include <string.h>

#include "client/core/endpoint_name.h"
#include "proto/base/error.h"
#include "proto/base/list.h"
#include "proto/base/log.h"
#include "proto/transport/channel_args.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/peer_name.h"

/* How soon gRPC itself connects again: retries come in this rhythm, and find a connection or none. */
#define CONNECT_AGAIN_FIRST_MS 50
#define CONNECT_AGAIN_MOST_MS  1000
#define CONNECT_TIMEOUT_MS     10000

/* Longer than a training step: the next pull of many finds them open. */
#define FURTHER_IDLE_MS 60000

struct channel *channel_hold(struct channel *channel) {
    channel->holders++;
    return channel;
}

void channel_release(struct channel *channel) {
    if (--channel->holders > 0) return;
    grpc_channel_destroy(channel->grpc);
    free(channel);
}

/* ---- connecting ---- */

static grpc_channel *connect_to(const struct connection *connection, bool is_further) {
    struct channel_args args;
    channel_args_client(&args);
    /* A client is a connection of its own, so that one's end is nobody else's. */
    channel_args_add(&args, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_args_add(&args, GRPC_ARG_ENABLE_RETRIES, 0);
    channel_args_add(&args, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, CONNECT_AGAIN_FIRST_MS);
    channel_args_add(&args, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, CONNECT_AGAIN_MOST_MS);
    channel_args_add(&args, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TIMEOUT_MS);
    if (is_further) channel_args_add(&args, GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, FURTHER_IDLE_MS);
    if (!connection->tls) return grpc_compat_channel(connection->target, &args.list);
    struct tls_identity *identity = tls_source_current(connection->tls);
    grpc_channel *grpc =
        grpc_compat_tls_channel(connection->target, &args.list, identity, connection->expected);
    tls_identity_unref(identity);
    return grpc;
}

static struct channel *make_channel(const struct connection *connection, bool is_further) {
    struct channel *channel = malloc(sizeof *channel);
    if (channel) *channel = (struct channel){connect_to(connection, is_further), connection->tls != NULL, 1};
    return channel;
}

struct channel *connection_channel(struct connection *connection, unsigned index) {
    if (index == 0) return connection->channel;
    struct channel **further = &connection->more[index - 1];
    if (!*further) *further = make_channel(connection, true);
    return *further;
}

static void release_further(struct connection *connection) {
    for (size_t i = 0; i < sizeof connection->more / sizeof *connection->more; i++) {
        if (connection->more[i]) channel_release(connection->more[i]);
        connection->more[i] = NULL;
    }
}

/* On the loop's thread. */
static void renew(struct wake *wake) {
    struct connection *connection = container_of(wake, struct connection, renew);
    if (!connection->channel) return;
    struct channel *next = make_channel(connection, false);
    if (!next) {
        log_error("no memory for a channel with the new certificates; the old one stays",
                  LOG_TEXT("endpoint", connection->target));
        return;
    }
    channel_release(connection->channel);
    connection->channel = next;
    release_further(connection);
}

static void certificates_changed(void *context, bool taken) {
    struct connection *connection = context;
    if (taken) loop_wake(connection->loop, &connection->renew);
}

/* ---- opening and closing ---- */

static bool given(const char *text) {
    return text && *text;
}

static sw_status check_peer_identity(const char *name, sw_error *error) {
    bool is_spiffe = strncmp(name, "spiffe:", 7) == 0;
    const char *why = is_spiffe ? spiffe_id_wrong(name, strlen(name)) : dns_name_wrong(name, strlen(name));
    if (!why) return SW_OK;
    return error_set_code(
        error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
        "peer_identity '%.512s' is neither a SPIFFE id (spiffe://TRUST-DOMAIN/PATH) nor a DNS "
        "name: %s",
        name, why);
}

static sw_status expect(struct connection *connection, const char *endpoint, const char *name,
                        sw_error *error) {
    char host[PEER_NAME_MAX + 1];
    if (given(name)) {
        sw_status status = check_peer_identity(name, error);
        if (status != SW_OK) return status;
    } else {
        peer_name_host(endpoint, host, sizeof host);
        name = host;
    }
    connection->expected = strdup(name);
    return connection->expected ? SW_OK : error_no_memory(error);
}

static sw_status open_tls(struct connection *connection, const char *endpoint,
                          const sw_client_options *options, sw_error *error) {
    const struct tls_files files = {options->tls_key, options->tls_cert, options->tls_ca, options->tls_crl};
    if (endpoint_name_is_unix(endpoint)) return SW_OK;
    if (!tls_files_given(&files) && given(options->peer_identity))
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "peer_identity '%.512s' cannot be checked without certificates; give tls_cert, "
                              "tls_key and tls_ca too",
                              options->peer_identity);
    if (!tls_files_given(&files)) return SW_OK;
    sw_status status = expect(connection, endpoint, options->peer_identity, error);
    return status == SW_OK ? tls_source_open(&files, TLS_CLIENT, &connection->tls, error) : status;
}

static sw_status start(struct connection *connection, sw_error *error) {
    connection->channel = make_channel(connection, false);
    if (!connection->channel) return error_no_memory(error);
    connection->renew.run = renew;
    const struct tls_source_watch watch = {.changed = certificates_changed, .context = connection};
    return connection->tls ? tls_source_watch(connection->tls, &watch, error) : SW_OK;
}

sw_status connection_open(struct connection *connection, const char *endpoint, const char *target,
                          const sw_client_options *options, struct loop *loop, sw_error *error) {
    connection->loop = loop;
    connection->target = strdup(target);
    sw_status status =
        connection->target ? open_tls(connection, endpoint, options, error) : error_no_memory(error);
    if (status == SW_OK) status = start(connection, error);
    if (status != SW_OK) {
        if (connection->channel) connection_end(connection);
        connection_free(connection);
    }
    return status;
}

void connection_stop(struct connection *connection) {
    if (connection->tls) tls_source_unwatch(connection->tls);
}

void connection_end(struct connection *connection) {
    release_further(connection);
    channel_release(connection->channel);
    connection->channel = NULL;
}

void connection_free(struct connection *connection) {
    tls_source_close(connection->tls);
    free(connection->target);
    free(connection->expected);
}
