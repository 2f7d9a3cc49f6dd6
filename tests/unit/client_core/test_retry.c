#include "client/core/retry.h"
#include "proto/base/clock.h"
#include "tests/support/test.h"

static struct retry_case unanswered(void) {
    return (struct retry_case){.status = SW_UNAVAILABLE,
                               .now_ms = 1000,
                               .deadline_ms = 600000,
                               .gone_since_ms = CLOCK_NEVER,
                               .endpoint_grace_ms = 30000};
}

Test(retry, unavailable_is_tried_again_unless_another_reason_came_with_it) {
    struct retry_case failed = unanswered();
    int64_t delay;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    failed.reason = SW_REASON_SHUTTING_DOWN;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    failed.reason = SW_REASON_ENDPOINT_LOST;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP);
}

Test(retry, no_other_status_is_tried_again) {
    for (int status = 0; status <= SW_UNAUTHENTICATED; status++) {
        struct retry_case failed = unanswered();
        failed.status = (sw_status)status;
        int64_t delay;
        cr_assert_eq(retry_decide(&failed, &delay), status == SW_UNAVAILABLE ? RETRY_AGAIN : RETRY_GIVE_UP);
    }
}

Test(retry, a_publish_waits_for_room_and_for_its_turn) {
    static const sw_reason reasons[] = {SW_REASON_STORE_FULL, SW_REASON_PUBLISH_IN_PROGRESS};
    for (size_t i = 0; i < 2; i++) {
        struct retry_case failed = unanswered();
        failed.reason = reasons[i];
        failed.status = sw_reason_status(reasons[i]);
        int64_t delay;
        cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP);
        failed.publishes = true;
        failed.attempt = 1000;
        failed.random = UINT32_MAX;
        cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
        cr_assert_leq(delay, 200, "room may come at any moment");
        failed.now_ms = failed.deadline_ms;
        cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP);
    }
}

Test(retry, what_has_begun_to_come_waits_for_a_place_to_go_on) {
    struct retry_case failed = unanswered();
    failed.reason = SW_REASON_LIMIT;
    failed.status = sw_reason_status(failed.reason);
    int64_t delay;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP, "nothing has come");
    failed.has_begun = true;
    failed.attempt = 1000;
    failed.random = UINT32_MAX;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    cr_assert_leq(delay, 200, "another call may end at any moment");
}

Test(retry, a_publish_waits_for_the_lease_that_is_taken_up_again) {
    struct retry_case failed = unanswered();
    failed.reason = SW_REASON_NOT_ATTACHED;
    failed.status = sw_reason_status(failed.reason);
    int64_t delay;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP, "nobody attaches");
    failed.is_attached = true;
    failed.attempt = 1000;
    failed.random = UINT32_MAX;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    cr_assert_leq(delay, 200, "the lease may stand at any moment");
    failed.now_ms = failed.deadline_ms;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP);
}

Test(retry, backoff_grows_and_is_spread) {
    int64_t least_before = 0;
    for (uint32_t attempt = 0; attempt < 40; attempt++) {
        struct retry_case failed = unanswered();
        failed.attempt = attempt;
        int64_t least, most;
        failed.random = 0;
        cr_assert_eq(retry_decide(&failed, &least), RETRY_AGAIN);
        failed.random = (uint32_t)least;
        cr_assert_eq(retry_decide(&failed, &most), RETRY_AGAIN);
        cr_assert_gt(least, 0);
        cr_assert_gt(most, least, "two that fail together come back apart");
        cr_assert_geq(least, least_before);
        cr_assert_leq(most, 2000);
        least_before = least;
    }
    cr_assert_eq(least_before, 1000);
}

Test(retry, the_last_error_stands_at_the_deadline_and_no_delay_reaches_beyond) {
    struct retry_case failed = unanswered();
    failed.deadline_ms = failed.now_ms + 7;
    int64_t delay;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    cr_assert_eq(delay, 7);
    failed.now_ms = failed.deadline_ms;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_GIVE_UP);
}

Test(retry, an_endpoint_that_was_reached_and_is_gone_for_the_grace_is_lost) {
    struct retry_case failed = unanswered();
    failed.reached_once = true;
    failed.gone_since_ms = 1000;
    failed.now_ms = 1000 + 29998;
    int64_t delay;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    cr_assert_eq(delay, 2, "the loss is noticed when it comes");
    failed.now_ms += 2;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_LOST);
    failed.deadline_ms = failed.now_ms;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_LOST, "which says more than the last error");
}

Test(retry, an_endpoint_never_reached_or_one_that_answers_is_not_lost) {
    struct retry_case failed = unanswered();
    int64_t delay;
    failed.gone_since_ms = 0;
    failed.now_ms = 500000;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
    failed.reached_once = true;
    failed.reason = SW_REASON_SHUTTING_DOWN;
    cr_assert_eq(retry_decide(&failed, &delay), RETRY_AGAIN);
}
