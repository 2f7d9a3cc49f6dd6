/* Watch: how a service is, now and whenever that has changed. */
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/transport/slices.h"
#include "service/rpc/call.h"
#include "service/rpc/health.h"
#include "service/rpc/methods.h"
#include "service/rpc/server.h"

struct state {
    struct health_watch watch;
    struct call *call;
    const char *name;
    enum health_status told; /* HEALTH_UNKNOWN: nothing yet */
    bool is_watching;
};

static void tell(struct call *call) {
    struct state *state = call->state;
    sw_buffer *response;
    sw_error error;
    if (call_is_over(call) || call_is_sending(call)) return;
    enum health_status health = health_of(call->server, state->name);
    if (health == state->told) return;
    if (health_response_encode(health, &response, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->told = health;
    call_write(call, message_of_buffer(response));
    sw_buffer_unref(response);
}

static void changed(struct health_watch *watch) {
    tell(container_of(watch, struct state, watch)->call);
}

static void refuse(struct call *call) {
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "there are %u watches of the health already; end one, or use Check",
              LIMIT_HEALTH_WATCHES);
    error_add(&error, "limit", "health_watches");
    call_fail(call, &error);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    sw_error error;
    if (health_request_decode(data, size, &call->arena, &state->name, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->call = call;
    state->watch.changed = changed;
    state->is_watching = health_watch_start(&call->server->all->health, &state->watch);
    if (state->is_watching) {
        tell(call);
    } else {
        refuse(call);
    }
}

static void end(struct call *call) {
    struct state *state = call->state;
    if (state->is_watching) health_watch_stop(&call->server->all->health, &state->watch);
}

const struct method health_watch = {
    .path = HEALTH_SERVICE "Watch",
    .state_size = sizeof(struct state),
    .ends_with_drain = true,
    .begin = begin,
    .sent = tell,
    .end = end,
};
