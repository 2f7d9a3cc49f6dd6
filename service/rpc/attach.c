/* Attach: a trainer's lease, held as long as the call lives. */
#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"
#include "service/rpc/server.h"

struct state {
    sw_attachment request;
    struct store_lease lease;
    struct call *call;
    bool is_started;

    /* under the lock */
    bool is_granted, has_ended;
    sw_error why;

    bool is_told;
};

static void on_granted(struct store_lease *lease) {
    struct state *state = container_of(lease, struct state, lease);
    state->is_granted = true;
    call_wake(state->call);
}

static void on_ended(struct store_lease *lease, const sw_error *why) {
    struct state *state = container_of(lease, struct state, lease);
    state->has_ended = true;
    state->why = *why;
    call_wake(state->call);
}

/* The first response tells that the lease stands; there is no other. */
static void tell_granted(struct call *call) {
    struct state *state = call->state;
    sw_buffer *response;
    sw_error error;
    state->is_told = true;
    if (attach_response_encode(state->lease.generation, &response, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    call_write(call, message_of_buffer(response));
    sw_buffer_unref(response);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    bool pending = false;
    sw_error error;
    if (attach_request_decode(data, size, &call->arena, &state->request, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->call = call;
    state->lease = (struct store_lease){.granted = on_granted, .ended = on_ended};
    call_subscribe(call);
    sw_status status = store_attach(guard_lock(call->guard), &state->lease, &state->request,
                                    (call->rights.grant.rights & RIGHT_PUBLISH) != 0, &pending, &error);
    guard_unlock_changed(call->guard);
    if (status != SW_OK) {
        call_unsubscribe(call);
        call_fail(call, &error);
        return;
    }
    if (!pending) tell_granted(call);
}

static void woken(struct call *call) {
    struct state *state = call->state;
    guard_lock(call->guard);
    bool granted = state->is_granted, ended = state->has_ended;
    guard_unlock(call->guard);
    if (call_is_over(call)) return;
    if (ended) {
        call_fail(call, &state->why);
    } else if (granted && !state->is_told) {
        tell_granted(call);
    }
}

/* Any end of the call is a break. */
static void end(struct call *call) {
    struct state *state = call->state;
    if (!call->subscribed) return;
    store_detach(guard_lock(call->guard), &state->lease);
    guard_unlock_changed(call->guard);
    call_unsubscribe(call);
}

const struct method attach_trainer = {
    .path = STAGE_SERVICE "Attach",
    .state_size = sizeof(struct state),
    .ends_with_drain = true,
    .begin = begin,
    .woken = woken,
    .end = end,
};
