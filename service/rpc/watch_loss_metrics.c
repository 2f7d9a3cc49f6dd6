/* WatchLossMetrics: events as they come, one write in flight, a heartbeat between them. */
#include "proto/transport/slices.h"
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

#define HEARTBEAT_MS 10000

struct state {
    struct watch_request request;
    struct store_watch watch;
    struct loop_timer heartbeat;
    bool heartbeat_due;
    struct call *call;
};

static void on_ready(struct store_watch *watch) {
    call_wake(container_of(watch, struct state, watch)->call);
}

static grpc_byte_buffer *published(struct store *store, const struct store_item *item) {
    uint8_t head[METRICS_HEAD_MAX];
    size_t size =
        watch_published_head(&item->address, item->published_unix_ns, sw_buffer_size(item->metrics), head);
    grpc_byte_buffer *message = message_of_parts(head, size, slice_of_buffer(item->metrics));
    store_item_release(store, item);
    return message;
}

static sw_status encoded(const struct watch_event *event, grpc_byte_buffer **ret, sw_error *error) {
    sw_buffer *buffer;
    sw_status status = watch_event_encode(event, &buffer, error);
    if (status != SW_OK) return status;
    *ret = message_of_buffer(buffer);
    sw_buffer_unref(buffer);
    return SW_OK;
}

/* Under the lock, since an event's strings live until the store is called again. *ret stays NULL where there
 * is no event. */
static sw_status next_event(struct store *store, struct state *state, grpc_byte_buffer **ret,
                            sw_error *error) {
    struct watch_event event;
    const struct store_item *item = NULL;
    if (!store_watch_next(store, &state->watch, &event, &item)) return SW_OK;
    if (event.type != WATCH_PUBLISHED) return encoded(&event, ret, error);
    *ret = published(store, item);
    return SW_OK;
}

static sw_status next_message(struct state *state, grpc_byte_buffer **ret, sw_error *error) {
    if (state->heartbeat_due) {
        struct watch_event event = {.type = WATCH_HEARTBEAT, .heartbeat_unix_ns = clock_system.unix_ns(NULL)};
        state->heartbeat_due = false;
        return encoded(&event, ret, error);
    }
    sw_status status = next_event(guard_lock(state->call->guard), state, ret, error);
    guard_unlock(state->call->guard);
    return status;
}

static void send_next(struct call *call) {
    struct state *state = call->state;
    grpc_byte_buffer *message = NULL;
    sw_error error;
    if (call_is_over(call) || call_is_sending(call)) return;
    if (next_message(state, &message, &error) != SW_OK) {
        call_fail(call, &error);
    } else if (message) {
        call_write(call, message);
    }
}

static void beat(struct loop_timer *timer) {
    struct state *state = container_of(timer, struct state, heartbeat);
    loop_timer_set(state->call->loop, timer, loop_now_ms(state->call->loop) + HEARTBEAT_MS);
    state->heartbeat_due = true;
    send_next(state->call);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    sw_error error;
    if (watch_request_decode(data, size, &call->arena, &state->request, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->call = call;
    state->watch.ready = on_ready;
    state->heartbeat.run = beat;
    call_subscribe(call);
    sw_status status = store_watch_start(guard_lock(call->guard), &state->watch, &state->request, &error);
    guard_unlock(call->guard);
    if (status != SW_OK) {
        call_unsubscribe(call);
        call_fail(call, &error);
        return;
    }
    loop_timer_set(call->loop, &state->heartbeat, loop_now_ms(call->loop) + HEARTBEAT_MS);
    call_send_headers(call);
}

static void end(struct call *call) {
    struct state *state = call->state;
    if (!call->subscribed) return;
    loop_timer_clear(call->loop, &state->heartbeat);
    store_watch_stop(guard_lock(call->guard), &state->watch);
    guard_unlock(call->guard);
    call_unsubscribe(call);
}

const struct method watch_loss_metrics = {
    .path = STAGE_SERVICE "WatchLossMetrics",
    .state_size = sizeof(struct state),
    .ends_with_drain = true,
    .begin = begin,
    .sent = send_next,
    .woken = send_next,
    .end = end,
};
