#include "service/rpc/pulling.h"

#include "service/rpc/gate.h"
#include "service/rpc/guard.h"

static void on_answered(struct store_pull *pull) {
    struct pulling *pulling = container_of(pull, struct pulling, pull);
    pulling->answered = true;
    call_wake(pulling->call);
}

static void pass_on(struct pulling *pulling) {
    if (pulling->pull.status == SW_OK) {
        pulling->answer(pulling->call, pulling->pull.item);
    } else {
        call_fail(pulling->call, &pulling->pull.error);
    }
}

void pulling_start(struct call *call, struct pulling *pulling, sw_item_kind kind,
                   void (*answer)(struct call *call, const struct store_item *item)) {
    sw_error error;
    if (gate_check_consumer(call, pulling->request.consumer.id, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    pulling->call = call;
    pulling->answer = answer;
    pulling->pull = (struct store_pull){.request = &pulling->request,
                                        .kind = kind,
                                        .until_ms = call_wait_until(call, &pulling->request.wait),
                                        .answered = on_answered};
    struct store *store = guard_lock(call->guard);
    bool now = store_pull_start(store, &pulling->pull);
    if (!now) call_subscribe(call);
    if (pulling->request.consumer.release_below > 0) {
        guard_unlock_changed(call->guard);
    } else {
        guard_unlock(call->guard);
    }
    if (now) pass_on(pulling);
}

void pulling_woken(struct pulling *pulling) {
    call_woken_last(pulling->call);
    pass_on(pulling);
}

void pulling_release(struct pulling *pulling) {
    if (!pulling->pull.item) return;
    store_item_release(guard_lock(pulling->call->guard), pulling->pull.item);
    guard_unlock(pulling->call->guard);
    pulling->pull.item = NULL;
}

/* It may have broken while it waited, or between the store's answer and ours. */
void pulling_end(struct pulling *pulling) {
    struct call *call = pulling->call;
    if (!call) return;
    if (call->subscribed) {
        store_pull_cancel(guard_lock(call->guard), &pulling->pull);
        guard_unlock(call->guard);
        call_unsubscribe(call);
    }
    pulling_release(pulling);
}
