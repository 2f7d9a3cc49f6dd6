/* contract.md, Publishing: closing. */
#include <string.h>

#include "tests/unit/store/fixture.h"

STORE_SUITE(closing);

Test(closing, the_same_again_is_fine_and_another_a_conflict) {
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN"));
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN"));
    static const char *const others[] = {"other", "Na", "NaN!", ""};
    for (int i = 0; i < 4; i++)
        expect_refused(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, others[i]),
                       SW_ALREADY_EXISTS, SW_REASON_CONFLICT);
    expect_refused(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, "NaN"), SW_ALREADY_EXISTS,
                   SW_REASON_CONFLICT);
}

Test(closing, it_creates_the_channel_and_begins_the_generation) {
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    cr_assert(channel_info("train", SW_METRICS).is_closed);
    cr_assert_eq(store_generation(store), 1);
}

Test(closing, what_is_held_stays_pullable) {
    publish(at("train", 1), "loss");
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, "NaN"));
    expect_answer(pull(SW_METRICS, at("train", 1)), "loss");
}

Test(closing, it_answers_who_waits) {
    struct puller *step = pull(SW_METRICS, at("train", 5));
    struct puller *latest = pull_latest(SW_METRICS, "train");
    struct puller *other = pull(SW_METRICS, at("eval", 5));
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    expect_refusal(step, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_refusal(latest, SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_waiting(other);
}

Test(closing, other_kinds_of_the_name_stay_open) {
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    expect_ok(publish_tensors(at("train", 1), "bytes", 1));
}

Test(closing, only_a_new_generation_reopens) {
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    attach(1, STAGE, 0);
    expect_refused(publish(at("train", 1), "loss"), SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
    attach(2, STAGE, 0);
    expect_ok(publish(at("train", 1), "loss"));
}

Test(closing, a_long_message_is_cut) {
    char message[LIMIT_CLOSE_MESSAGE + 10];
    memset(message, 'x', sizeof message);
    message[sizeof message - 1] = '\0';
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, message));
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_ABORTED, message));
    cr_assert_eq(strlen(channel_info("train", SW_METRICS).closed.message), LIMIT_CLOSE_MESSAGE);
}

/* ---- all ---- */

Test(closing, all_closes_every_channel_and_kind_of_stage_and_group) {
    publish(at("train", 1), "loss");
    publish_tensors(at("acts", 1), "bytes", 1);
    publish(of_stage(1, at("train", 1)), "other stage");
    publish(of_group(1, at("train", 1)), "other group");
    expect_ok(close_all(at("", 0), SW_CLOSE_ABORTED, "NaN"));
    expect_refused(publish(at("train", 2), "loss"), SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
    cr_assert_null(begin_tensors(at("acts", 2), 1));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
    expect_ok(publish(of_stage(1, at("train", 2)), "loss"));
    expect_ok(publish(of_group(1, at("train", 2)), "loss"));
}

Test(closing, all_closes_channels_never_seen) {
    struct puller *waits = pull(SW_TENSORS, at("never", 1));
    expect_ok(close_all(at("", 0), SW_CLOSE_ABORTED, "NaN"));
    expect_refusal(waits, SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
    expect_refusal(pull(SW_METRICS, of_stage(STAGE, at("unheard", 1))), SW_ABORTED,
                   SW_REASON_PUBLISHER_ABORTED);
    expect_refused(publish(at("new", 1), "loss"), SW_FAILED_PRECONDITION, SW_REASON_CHANNEL_CLOSED);
}

Test(closing, all_leaves_closed_ones_as_they_are) {
    expect_ok(close_channel(at("train", 0), SW_METRICS, SW_CLOSE_FINISHED, ""));
    expect_ok(close_all(at("", 0), SW_CLOSE_ABORTED, "NaN"));
    expect_refusal(pull(SW_METRICS, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_FINISHED);
    expect_ok(close_all(at("", 0), SW_CLOSE_FINISHED, ""));
    expect_refusal(pull(SW_METRICS, at("eval", 1)), SW_ABORTED, SW_REASON_PUBLISHER_ABORTED);
}

Test(closing, all_begins_the_generation_and_ends_with_it) {
    expect_ok(close_all(at("", 0), SW_CLOSE_ABORTED, "NaN"));
    cr_assert_eq(store_generation(store), 1);
    cr_assert_eq(info().channel_count, 0);
    attach(2, STAGE, 0);
    expect_ok(publish(at("train", 1), "loss"));
}

Test(closing, all_meets_the_rows_before_content) {
    attach(2, STAGE, 0);
    expect_refused(close_all(of_generation(1, at("", 0)), SW_CLOSE_FINISHED, ""), SW_FAILED_PRECONDITION,
                   SW_REASON_STALE_GENERATION);
    expect_refused(close_all(of_generation(3, at("", 0)), SW_CLOSE_FINISHED, ""), SW_FAILED_PRECONDITION,
                   SW_REASON_NOT_ATTACHED);
    sw_address address = at("", 0);
    address.run_id = "run-b";
    expect_refused(close_all(address, SW_CLOSE_FINISHED, ""), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
}
