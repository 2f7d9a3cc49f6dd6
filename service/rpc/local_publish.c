#include "service/rpc/local_publish.h"

#include "proto/base/error.h"

#define TIMEOUT_MS 600000

sw_status local_publish_begin(struct local_publish *local, sw_publisher *publisher, int64_t timeout_ms,
                              sw_error *error) {
    if (loop_forked()) {
        return error_set_code(
            error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
            "this endpoint belongs to the process that this one was forked from; open one here");
    }
    local->endpoint = container_of(publisher, sw_endpoint, publisher);
    local->until_ms =
        clock_after(loop_now_ms(local->endpoint->loop), timeout_ms > 0 ? timeout_ms : TIMEOUT_MS);
    guard_lock(&local->endpoint->guard);
    local->endpoint->users++;
    guard_unlock(&local->endpoint->guard);
    return SW_OK;
}

sw_status local_publish_end(struct local_publish *local, sw_status status) {
    guard_lock(&local->endpoint->guard);
    local->endpoint->users--;
    guard_unlock_changed(&local->endpoint->guard);
    return status;
}

static bool may_pass(const sw_error *error) {
    return error->reason == SW_REASON_STORE_FULL || error->reason == SW_REASON_PUBLISH_IN_PROGRESS;
}

sw_status local_publish_retry(struct local_publish *local,
                              sw_status (*attempt)(struct store *store, void *context, sw_error *error),
                              void *context, sw_error *error) {
    struct guard *guard = &local->endpoint->guard;
    sw_error why;
    struct store *store = guard_lock(guard);
    sw_status status = attempt(store, context, &why);
    enum waited waited = WAITED_WOKEN;
    while (status != SW_OK && may_pass(&why) && waited == WAITED_WOKEN) {
        waited = guard_wait(guard, local->until_ms);
        if (waited == WAITED_WOKEN) status = attempt(store, context, &why);
    }
    if (waited == WAITED_INTERRUPTED) status = waiting_interrupted(&why);
    guard_unlock_changed(guard);
    if (status != SW_OK && error) *error = why;
    return status;
}

sw_address local_address(const sw_address *address) {
    sw_address ret = *address;
    if (!ret.run_id) ret.run_id = "";
    if (!ret.channel) ret.channel = "";
    return ret;
}
