#include "client/core/retry.h"

#include "proto/base/clock.h"

#define FIRST_DELAY_MS 40
#define MOST_DELAY_MS  2000
/* Room in a store comes with a release, a lease with the next Attach, and a place among a caller's calls with
 * the end of another one: each may be a moment away. */
#define MOST_DELAY_FOR_A_MOMENT_MS 200

bool retry_nobody_answered(sw_status status, sw_reason reason) {
    return status == SW_UNAVAILABLE && reason == SW_REASON_NONE;
}

static bool waits_for_room(const struct retry_case *failed) {
    return failed->publishes &&
           (failed->reason == SW_REASON_STORE_FULL || failed->reason == SW_REASON_PUBLISH_IN_PROGRESS);
}

static bool waits_for_a_lease(const struct retry_case *failed) {
    return failed->is_attached && failed->reason == SW_REASON_NOT_ATTACHED;
}

static bool waits_for_a_place(const struct retry_case *failed) {
    return failed->has_begun && failed->reason == SW_REASON_LIMIT;
}

static bool waits_for_a_moment(const struct retry_case *failed) {
    return waits_for_room(failed) || waits_for_a_lease(failed) || waits_for_a_place(failed);
}

static int64_t backoff(const struct retry_case *failed) {
    int64_t most = waits_for_a_moment(failed) ? MOST_DELAY_FOR_A_MOMENT_MS : MOST_DELAY_MS;
    int64_t delay = FIRST_DELAY_MS;
    for (uint32_t i = 0; i < failed->attempt && delay < most; i++) delay *= 2;
    if (delay > most) delay = most;
    return delay / 2 + failed->random % (delay / 2 + 1);
}

static int64_t sooner(int64_t delay, int64_t now, int64_t due) {
    return due - now < delay ? due - now : delay;
}

enum retry_verdict retry_decide(const struct retry_case *failed, int64_t *ret_delay_ms) {
    bool unanswered = retry_nobody_answered(failed->status, failed->reason);
    if (!unanswered && failed->reason != SW_REASON_SHUTTING_DOWN && !waits_for_a_moment(failed))
        return RETRY_GIVE_UP;
    int64_t lost_at = CLOCK_NEVER;
    if (unanswered && failed->reached_once && failed->gone_since_ms != CLOCK_NEVER)
        lost_at = clock_after(failed->gone_since_ms, failed->endpoint_grace_ms);
    if (failed->now_ms >= lost_at) return RETRY_LOST;
    if (failed->now_ms >= failed->deadline_ms) return RETRY_GIVE_UP;
    int64_t delay = backoff(failed);
    delay = sooner(delay, failed->now_ms, lost_at);
    *ret_delay_ms = sooner(delay, failed->now_ms, failed->deadline_ms);
    return RETRY_AGAIN;
}
