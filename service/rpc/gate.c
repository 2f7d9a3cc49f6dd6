#include "service/rpc/gate.h"

#include <string.h>

#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>

#include "proto/base/error.h"
#include "proto/base/log.h"
#include "proto/transport/peer_identity.h"
#include "service/rpc/call.h"
#include "service/rpc/methods.h"
#include "service/rpc/peer_address.h"
#include "service/rpc/server.h"
#include "service/rpc/unknown_method.h"

/* ---- what each method needs ---- */

static const struct {
    const struct method *method;
    unsigned any_of;
} needs[] = {
    {&get_stage_info, RIGHTS_ALL},
    {&get_loss_metrics, RIGHT_PULL},
    {&stream_tensors, RIGHT_PULL},
    {&release_steps, RIGHT_PULL},
    {&watch_loss_metrics, RIGHT_WATCH},
    {&exchange_object, RIGHT_CONTRIBUTE},
    {&attach_trainer, RIGHT_CONTRIBUTE | RIGHT_PUBLISH}, /* policies and generations: publish alone */
    {&publish_loss_metrics, RIGHT_PUBLISH},
    {&publish_tensors, RIGHT_PUBLISH},
    {&publish_failure, RIGHT_PUBLISH},
    {&close_channel, RIGHT_PUBLISH},
    {&server_reflection, RIGHTS_ALL},
    {&server_reflection_v1alpha, RIGHTS_ALL},
    {&health_check, 0},
    {&health_list, 0},
    {&health_watch, 0},
    {&unknown_method, 0},
};

/* One that the table forgets is for publishers alone. */
unsigned gate_needs(const struct method *method) {
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].method == method) return needs[i].any_of;
    }
    return RIGHT_PUBLISH;
}

/* ---- opening and closing ---- */

sw_status gate_open(struct gate *gate, const sw_endpoint_options *options, struct tls_source *tls,
                    sw_error *error) {
    *gate = (struct gate){.publish_on_loopback = options->publish_on_loopback};
    sw_status status = access_file_open(&gate->access, options->access, error);
    if (status != SW_OK) return status;
    callers_init(&gate->callers, options->max_calls);
    peer_check_init(&gate->peers, tls);
    return SW_OK;
}

void gate_start(struct gate *gate, struct loop *loop) {
    access_file_start(&gate->access, loop);
}

void gate_stop(struct gate *gate) {
    access_file_stop(&gate->access);
}

void gate_close(struct gate *gate) {
    callers_destroy(&gate->callers);
    peer_check_close(&gate->peers);
    access_file_close(&gate->access);
}

/* ---- who it is from ---- */

static struct gate *gate_of(const struct call *call) {
    return &call->server->all->gate;
}

static enum listener_class class_of(const struct call *call) {
    return (enum listener_class)(call->server - call->server->all->each);
}

static const char *const any_consumer[] = {"*"};

static void grant(struct access_grant *to, unsigned rights) {
    to->rights = rights;
    to->consumers = any_consumer;
    to->consumer_count = 1;
}

#define RIGHTS_READER (RIGHT_WATCH | RIGHT_PULL | RIGHT_CONTRIBUTE)

static unsigned rights_without_certificate(const struct gate *gate, enum listener_class class) {
    switch (class) {
    case LISTENER_UNIX:
        return RIGHTS_ALL;
    case LISTENER_LOOPBACK:
        return gate->publish_on_loopback ? RIGHTS_ALL : RIGHTS_READER;
    case LISTENER_OTHER:
        return gate->access.table ? 0 : RIGHTS_READER;
    default:
        return 0;
    }
}

static const char *name_without_certificate(enum listener_class class) {
    switch (class) {
    case LISTENER_UNIX:
        return "@unix";
    case LISTENER_LOOPBACK:
        return "@loopback";
    default:
        return "@plaintext";
    }
}

static sw_status look_up(struct call *call, const char *identity, sw_error *error) {
    const struct access_table *table = gate_of(call)->access.table;
    if (!table || access_add(table, identity, &call->arena, &call->rights.grant)) return SW_OK;
    return error_no_memory(error);
}

static sw_status enter(struct call *call, const char *name, sw_error *error) {
    return callers_enter(&gate_of(call)->callers, name, &call->caller, error);
}

static sw_status know_by_listener(struct call *call, sw_error *error) {
    enum listener_class class = class_of(call);
    char address[PEER_ADDRESS_MAX];
    char *peer = grpc_call_get_peer(call->grpc);
    peer_address_of(peer, address);
    gpr_free(peer);
    call->rights.identity = name_without_certificate(class);
    sw_status status = look_up(call, call->rights.identity, error);
    if (!call->rights.grant.is_named)
        grant(&call->rights.grant, rights_without_certificate(gate_of(call), class));
    return status == SW_OK ? enter(call, address, error) : status;
}

static sw_status know_by_names(struct call *call, const struct peer_identity *peer, sw_error *error) {
    call->rights.identity = arena_string(&call->arena, peer->names, strlen(peer->names));
    if (!call->rights.identity) return error_no_memory(error);
    for (const char *name = NULL; (name = peer_identity_next(peer, name));) {
        sw_status status = look_up(call, name, error);
        if (status != SW_OK) return status;
    }
    if (!gate_of(call)->access.table) grant(&call->rights.grant, RIGHTS_READER);
    return enter(call, peer->names, error);
}

static sw_status know_by_certificate(struct call *call, sw_error *error) {
    struct peer_identity peer;
    grpc_auth_context *context = grpc_call_auth_context(call->grpc);
    int64_t now_s = clock_system.unix_ns(NULL) / 1000000000;
    sw_status status = peer_identity_read(context, &peer, error);
    if (status == SW_OK) status = peer_check_certificate(&gate_of(call)->peers, peer.pem, now_s, error);
    if (status == SW_OK) status = know_by_names(call, &peer, error);
    grpc_auth_context_release(context);
    return status;
}

static bool has_certificates(const struct call *call) {
    enum listener_class class = class_of(call);
    return gate_of(call)->peers.source && class != LISTENER_UNIX && class != LISTENER_HEALTH;
}

/* ---- refusing ---- */

static void log_refusal(struct call *call, const sw_error *error) {
    uint64_t left_out;
    if (!log_rate_allows(&gate_of(call)->refused, loop_now_ms(call->loop), &left_out)) return;
    char *peer = grpc_call_get_peer(call->grpc);
    log_warn("refused", LOG_TEXT("peer", peer), LOG_TEXT("identity", call->rights.identity),
             LOG_TEXT("method", call->method->path), LOG_TEXT("message", error->message),
             LOG_NUMBER("not_logged", left_out));
    gpr_free(peer);
}

static const char *what_to_do(const struct call *call, unsigned missing) {
    if (!gate_of(call)->access.table && missing == RIGHT_PUBLISH && class_of(call) == LISTENER_LOOPBACK)
        return "publishing is served on Unix sockets only; connect to the endpoint's unix:PATH, or start it "
               "with --publish-on-loopback";
    return "have it added to the endpoint's access table (--access)";
}

static sw_status check_right(struct call *call, sw_error *error) {
    unsigned any_of = gate_needs(call->method), rights = call->rights.grant.rights;
    char wanted[RIGHTS_WORDS_MAX], had[RIGHTS_WORDS_MAX];
    if (any_of == 0 || (rights & any_of)) return SW_OK;
    return error_set_code(error, SW_PERMISSION_DENIED, SW_REASON_NONE,
                          "%s may not call %s, which needs the right to %s%s; it may %s: %s",
                          call->rights.identity, call->method->path, any_of & (any_of - 1) ? "one of " : "",
                          rights_in_words(wanted, any_of), rights_in_words(had, rights),
                          what_to_do(call, any_of));
}

sw_status gate_check_consumer(struct call *call, const char *consumer, sw_error *error) {
    if (!*consumer || access_may_be(&call->rights.grant, consumer)) return SW_OK;
    error_set_code(error, SW_PERMISSION_DENIED, SW_REASON_NONE,
                   "%s may not pull as consumer \"%s\"; pull without a consumer id, or have `as %s` added to "
                   "its line of the endpoint's access table",
                   call->rights.identity, consumer, consumer);
    log_refusal(call, error);
    return SW_PERMISSION_DENIED;
}

/* ---- entering and leaving ---- */

sw_status gate_enter(struct call *call, sw_error *error) {
    sw_status status =
        has_certificates(call) ? know_by_certificate(call, error) : know_by_listener(call, error);
    if (status == SW_OK) status = check_right(call, error);
    if (status != SW_OK) log_refusal(call, error);
    return status;
}

void gate_leave(struct call *call) {
    callers_leave(&gate_of(call)->callers, call->caller);
    call->caller = NULL;
}
