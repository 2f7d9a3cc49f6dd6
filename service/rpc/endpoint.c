#include "service/rpc/endpoint.h"

#include <stdlib.h>

#include "proto/base/error.h"
#include "proto/base/log.h"
#include "proto/base/sized.h"
#include "proto/transport/grpc_compat.h"
#include "service/rpc/endpoint_lease.h"

/* ---- opening ---- */

static sw_status parse_health_listener(sw_endpoint *endpoint, const char *text, sw_error *error) {
    if (!text || !*text) return SW_OK;
    sw_status status = listener_parse_for_probes(text, &endpoint->listeners[endpoint->listener_count], error);
    if (status == SW_OK) endpoint->listener_count++;
    return status;
}

static sw_status open_tls(sw_endpoint *endpoint, const sw_endpoint_options *options, sw_error *error) {
    const struct tls_files files = {options->tls_key, options->tls_cert, options->tls_ca, options->tls_crl};
    if (!tls_files_given(&files)) return SW_OK;
    if (options->insecure_plaintext)
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "insecure_plaintext (--insecure-plaintext) contradicts the certificates that are "
            "given, with which every TCP listener speaks TLS; leave one of them out");
    sw_status status = tls_source_open(&files, TLS_SERVER, &endpoint->tls, error);
    return status == SW_OK ? tls_source_watch(endpoint->tls, &(struct tls_source_watch){0}, error) : status;
}

static sw_status parse_listeners(sw_endpoint *endpoint, const sw_endpoint_options *options, sw_error *error) {
    endpoint->listeners = calloc(options->listen_count + (size_t)1, sizeof *endpoint->listeners);
    if (!endpoint->listeners) {
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for %u listeners",
                              options->listen_count);
    }
    for (uint32_t i = 0; i < options->listen_count; i++) {
        struct listener *listener = &endpoint->listeners[i];
        bool anywhere = endpoint->tls || options->insecure_plaintext;
        sw_status status = listener_parse(options->listen[i], anywhere, listener, error);
        if (status != SW_OK) return status;
        endpoint->listener_count++;
        if (listener->class != LISTENER_OTHER || endpoint->tls) continue;
        log_warn("plaintext beyond this machine: what passes can be read, and whoever reaches the port is "
                 "@plaintext",
                 LOG_TEXT("listen", options->listen[i]));
    }
    return parse_health_listener(endpoint, options->health_listen, error);
}

static sw_status bind_listeners(sw_endpoint *endpoint, sw_error *error) {
    for (uint32_t i = 0; i < endpoint->listener_count; i++) {
        struct listener *listener = &endpoint->listeners[i];
        grpc_server *server = servers_of_class(&endpoint->servers, listener->class);
        sw_status status = listener_bind(listener, server, endpoint->tls, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

/* Without it all goes by chunks. */
static void open_hand_over(sw_endpoint *endpoint) {
    sw_error why;
    for (uint32_t i = 0; i < endpoint->listener_count; i++) {
        const struct listener *listener = &endpoint->listeners[i];
        if (listener->class != LISTENER_UNIX) continue;
        if (!endpoint->hand_over && hand_over_open(endpoint->loop, &endpoint->hand_over, &why) != SW_OK) {
            log_warn("no memory is handed over", LOG_TEXT("why", why.message));
            return;
        }
        hand_over_listen(endpoint->hand_over, listener->path);
    }
    endpoint->servers.hand_over = endpoint->hand_over;
}

static void close_listeners(sw_endpoint *endpoint) {
    for (uint32_t i = 0; i < endpoint->listener_count; i++) listener_close(&endpoint->listeners[i]);
}

static void free_endpoint(sw_endpoint *endpoint) {
    tls_source_close(endpoint->tls);
    free(endpoint->listeners);
    free(endpoint);
}

/* A listener's name is pointed into, so the array is made once and stays. */
static sw_status open_parts(sw_endpoint *endpoint, const sw_endpoint_options *options, sw_error *error) {
    struct store_options store = endpoint_options_of_store(options);
    sw_status status = open_tls(endpoint, options, error);
    if (status == SW_OK) status = parse_listeners(endpoint, options, error);
    if (status != SW_OK) return status;
    status = loop_start(&endpoint->loop, error);
    if (status != SW_OK) return status;
    status = guard_open(&endpoint->guard, &store, endpoint->loop, error);
    if (status != SW_OK) goto stop_loop;
    status =
        servers_init(&endpoint->servers, endpoint->loop, &endpoint->guard, options, endpoint->tls, error);
    if (status != SW_OK) goto close_guard;
    status = bind_listeners(endpoint, error);
    if (status != SW_OK) goto close_servers;
    open_hand_over(endpoint);
    return SW_OK;

close_servers:
    servers_close(&endpoint->servers);
    close_listeners(endpoint);
    loop_stop(endpoint->loop);
    guard_close(&endpoint->guard);
    return status;
close_guard:
    loop_stop(endpoint->loop);
    guard_close(&endpoint->guard);
    return status;
stop_loop:
    loop_stop(endpoint->loop);
    return status;
}

static sw_status open_endpoint(const sw_endpoint_options *options, sw_endpoint **ret_endpoint,
                               sw_error *error) {
    sw_status status = endpoint_options_check(options, error);
    if (status != SW_OK) return status;
    sw_endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for an endpoint");
    endpoint->publisher.ops = &endpoint_publisher_ops;
    list_init(&endpoint->leases);
    status = open_parts(endpoint, options, error);
    if (status != SW_OK) {
        free_endpoint(endpoint);
        return status;
    }
    servers_start(&endpoint->servers);
    for (uint32_t i = 0; i < endpoint->listener_count; i++) {
        log_info("serving", LOG_TEXT("listen", endpoint->listeners[i].name), LOG_TEXT("run", options->run_id),
                 LOG_NUMBER("stage", options->stage), LOG_TEXT("grpc", grpc_compat_version()));
    }
    *ret_endpoint = endpoint;
    return SW_OK;
}

sw_status sw_endpoint_open(const sw_endpoint_options *options, sw_endpoint **ret_endpoint, sw_error *error) {
    sw_endpoint_options known;
    sw_endpoint_options_init(&known);
    sw_status status = sized_read(options, &known, sizeof known, "sw_endpoint_options_init", error);
    return status == SW_OK ? open_endpoint(&known, ret_endpoint, error) : status;
}

const char *sw_endpoint_address(const sw_endpoint *endpoint, uint32_t index) {
    return index < endpoint->listener_count ? endpoint->listeners[index].name : NULL;
}

sw_publisher *sw_endpoint_publisher(sw_endpoint *endpoint) {
    return &endpoint->publisher;
}

/* ---- draining and closing ---- */

void sw_endpoint_drain(sw_endpoint *endpoint) {
    if (loop_forked()) return;
    store_drain(guard_lock(&endpoint->guard));
    guard_unlock_changed(&endpoint->guard);
    health_tell(&endpoint->servers.health, endpoint->loop);
}

static bool is_drained(const struct store *store) {
    return store_draining(store) && store_drained(store);
}

sw_status sw_endpoint_wait_drained(sw_endpoint *endpoint, int64_t timeout_ms, sw_error *error) {
    if (loop_forked()) {
        return error_set_code(error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
                              "this endpoint belongs to the process that this one was forked from");
    }
    int64_t until = clock_after(loop_now_ms(endpoint->loop), timeout_ms);
    struct store *store = guard_lock(&endpoint->guard);
    bool drained = is_drained(store);
    enum waited waited = WAITED_WOKEN;
    while (!drained && waited == WAITED_WOKEN) {
        waited = guard_wait(&endpoint->guard, until);
        drained = is_drained(store);
    }
    guard_unlock(&endpoint->guard);
    if (drained) return SW_OK;
    if (waited == WAITED_INTERRUPTED) return waiting_interrupted(error);
    return error_set_code(error, SW_DEADLINE_EXCEEDED, SW_REASON_NONE,
                          "not drained after %lld ms: consumers still need steps that are held",
                          (long long)timeout_ms);
}

/* Those inside the publisher have been told, and are on their way out. */
static void await_users(sw_endpoint *endpoint) {
    guard_lock(&endpoint->guard);
    while (endpoint->users > 0) guard_wait(&endpoint->guard, CLOCK_NEVER);
    guard_unlock(&endpoint->guard);
}

void sw_endpoint_close(sw_endpoint *endpoint, int64_t linger_ms) {
    if (!endpoint || loop_forked()) return;
    sw_endpoint_drain(endpoint);
    if (linger_ms > 0) sw_endpoint_wait_drained(endpoint, linger_ms, NULL);
    await_users(endpoint);
    endpoint_leases_end(endpoint);
    servers_close(&endpoint->servers);
    hand_over_stop(endpoint->hand_over);
    close_listeners(endpoint);
    loop_stop(endpoint->loop);
    hand_over_close(endpoint->hand_over);
    guard_close(&endpoint->guard);
    free_endpoint(endpoint);
}
