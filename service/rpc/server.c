#include "service/rpc/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "proto/base/log.h"
#include "proto/transport/channel_args.h"
#include "proto/transport/handover.h"
#include "service/rpc/call.h"
#include "service/rpc/services.h"
#include "service/rpc/unknown_method.h"

/* How long streams that are being sent have to end once the servers close, and connections once they carry no
 * call: a client that doesn't look at its connection doesn't close it either. */
#define CLOSE_GRACE_MS 2000
#define IDLE_GRACE_MS  200

static const struct server *each_end(const struct servers *servers) {
    return servers->each + LISTENER_CLASSES;
}

/* ---- starting ---- */

static struct channel_limits limits_of(const sw_endpoint_options *options) {
    struct channel_limits ret = {
        .handshake_ms = options->handshake_timeout_ms,
        .age_ms = options->max_connection_age_ms,
        .age_grace_ms = options->connection_age_grace_ms,
        .idle_ms = options->max_connection_idle_ms,
        .streams = options->max_streams,
        .header_bytes = options->header_bytes,
        .quota = grpc_resource_quota_create("stagewire"),
    };
    grpc_resource_quota_resize(ret.quota, options->transport_bytes);
    return ret;
}

sw_status servers_init(struct servers *servers, struct loop *loop, struct guard *guard,
                       const sw_endpoint_options *options, struct tls_source *tls, sw_error *error) {
    *servers = (struct servers){
        .loop = loop, .guard = guard, .tls = tls, .insecure_plaintext = options->insecure_plaintext};
    sw_status status = gate_open(&servers->gate, options, tls, error);
    if (status != SW_OK) return status;
    servers->limits = limits_of(options);
    list_init(&servers->calls);
    health_init(&servers->health);
    sem_init(&servers->closed, 0, 0);
    while (getrandom(&servers->incarnation, sizeof servers->incarnation, 0) < 0) {
    }
    snprintf(servers->incarnation_text, sizeof servers->incarnation_text, "%" PRIu64, servers->incarnation);
    for (struct server *server = servers->each; server < each_end(servers); server++) server->all = servers;
    servers->each[LISTENER_UNIX].reflects = servers->each[LISTENER_LOOPBACK].reflects = true;
    servers->each[LISTENER_OTHER].reflects = options->reflection;
    servers->each[LISTENER_HEALTH].for_probes = true;
    return SW_OK;
}

static void register_methods(struct server *server) {
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (!service_is_served(service_of(methods[i]), server)) continue;
        grpc_server_register_method_payload_handling payload =
            methods[i]->reads ? GRPC_SRM_PAYLOAD_NONE : GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER;
        server->registered[i] = grpc_server_register_method(server->grpc, methods[i]->path, NULL, payload, 0);
    }
}

grpc_server *servers_of_class(struct servers *servers, enum listener_class class) {
    struct server *server = &servers->each[class];
    if (server->grpc) return server->grpc;
    struct channel_args args;
    channel_args_server(&args, &server->all->limits);
    server->grpc = grpc_server_create(&args.list, NULL);
    grpc_server_register_completion_queue(server->grpc, loop_queue(servers->loop), NULL);
    register_methods(server);
    servers->running++;
    return server->grpc;
}

static void arm(struct server *server, size_t index);
static void arm_unknown(struct server *server);
static void check_closed(struct servers *servers);

static void accept_call(struct call *call, bool ok) {
    struct servers *servers = call->server->all;
    servers->armed--;
    if (ok) {
        call_begin(call);
    } else {
        call_discard(call);
        check_closed(servers);
    }
}

static void on_accepted(struct op *op, bool ok) {
    struct call *call = container_of(op, struct call, accepted);
    if (ok) arm(call->server, method_index(call->method));
    accept_call(call, ok);
}

static void on_accepted_unknown(struct op *op, bool ok) {
    struct call *call = container_of(op, struct call, accepted);
    if (ok) arm_unknown(call->server);
    accept_call(call, ok);
}

static struct call *new_call(struct server *server, const struct method *method,
                             void (*accepted)(struct op *, bool)) {
    struct call *call = call_create(server, method);
    if (!call) {
        log_error("no memory to accept calls", LOG_TEXT("method", method->path));
        abort(); /* as gRPC does: a method that is never answered again would be worse */
    }
    call->accepted.run = accepted;
    server->all->armed++;
    handover_release(&call->accepted);
    return call;
}

/* One request is armed a method: those that come meanwhile are queued by gRPC. */
static void arm(struct server *server, size_t index) {
    if (server->all->closing) return;
    struct call *call = new_call(server, methods[index], on_accepted);
    grpc_completion_queue *queue = loop_queue(server->all->loop);
    grpc_byte_buffer **request = methods[index]->reads ? NULL : &call->request;
    grpc_server_request_registered_call(server->grpc, server->registered[index], &call->grpc, &call->deadline,
                                        &call->metadata, request, queue, queue, &call->accepted);
}

/* Without it a method that nobody knows would hang until its deadline. */
static void arm_unknown(struct server *server) {
    if (server->all->closing) return;
    struct call *call = new_call(server, &unknown_method, on_accepted_unknown);
    grpc_completion_queue *queue = loop_queue(server->all->loop);
    grpc_server_request_call(server->grpc, &call->grpc, &call->details, &call->metadata, queue, queue,
                             &call->accepted);
}

static void on_started(struct op *op, bool ok) {
    (void)ok;
    struct server *server = container_of(op, struct server, started);
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (server->registered[i]) arm(server, i);
    }
    arm_unknown(server);
    if (!server->all->closing) gate_start(&server->all->gate, server->all->loop);
}

void servers_start(struct servers *servers) {
    for (struct server *server = servers->each; server < each_end(servers); server++) {
        if (!server->grpc) continue;
        grpc_server_start(server->grpc);
        server->started.run = on_started;
        loop_post(servers->loop, &server->started);
    }
}

/* ---- calls ---- */

size_t servers_open_calls(const struct servers *servers) {
    return servers->open_calls;
}

void servers_call_begun(struct servers *servers, struct list *link) {
    list_append(&servers->calls, link);
    servers->open_calls++;
}

/* ---- closing ---- */

static void limit_grace(struct servers *servers, int64_t grace_ms) {
    loop_timer_set(servers->loop, &servers->grace, loop_now_ms(servers->loop) + grace_ms);
}

static void check_closed(struct servers *servers) {
    if (!servers->closing || servers->open_calls > 0) return;
    if (servers->running > 0 || servers->armed > 0) {
        limit_grace(servers, IDLE_GRACE_MS);
        return;
    }
    loop_timer_clear(servers->loop, &servers->grace);
    gate_stop(&servers->gate);
    handover_release(&servers->closed);
    sem_post(&servers->closed);
}

void servers_call_ended(struct servers *servers) {
    servers->open_calls--;
    check_closed(servers);
}

static void on_stopped(struct op *op, bool ok) {
    (void)ok;
    struct server *server = container_of(op, struct server, stopped);
    grpc_server_destroy(server->grpc);
    server->grpc = NULL;
    server->all->running--;
    check_closed(server->all);
}

static void cancel_calls(struct loop_timer *timer) {
    struct servers *servers = container_of(timer, struct servers, grace);
    for (struct server *server = servers->each; server < each_end(servers); server++) {
        if (server->grpc) grpc_server_cancel_all_calls(server->grpc);
    }
}

static void on_begin_close(struct op *op, bool ok) {
    (void)ok;
    struct servers *servers = container_of(op, struct servers, begin_close);
    servers->closing = true;
    for (struct server *server = servers->each; server < each_end(servers); server++) {
        if (!server->grpc) continue;
        server->stopped.run = on_stopped;
        handover_release(&server->stopped);
        grpc_server_shutdown_and_notify(server->grpc, loop_queue(servers->loop), &server->stopped);
    }
    list_each_safe(link, &servers->calls) {
        struct call *call = container_of(link, struct call, link);
        if (call->method->ends_with_drain) call_shut_down(call);
    }
    servers->grace.run = cancel_calls;
    limit_grace(servers, CLOSE_GRACE_MS);
    check_closed(servers);
}

void servers_close(struct servers *servers) {
    servers->begin_close.run = on_begin_close;
    loop_post(servers->loop, &servers->begin_close);
    while (sem_wait(&servers->closed) != 0) {
    }
    handover_acquire(&servers->closed);
    sem_destroy(&servers->closed);
    grpc_resource_quota_unref(servers->limits.quota);
    gate_close(&servers->gate);
}
