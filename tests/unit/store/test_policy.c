/* contract.md, Publishing: policies come with Attach, and the first declaration in a generation stands. */
#include "tests/unit/store/fixture.h"

STORE_SUITE(policy);

static const struct declared train = {
    .channel = "train", .kind = SW_METRICS, .keep = 2, .lag = 5, .consumers = {"a", "b"}};

static void expect_conflict(struct declared policy) {
    cr_assert_null(attach_with(1, 1, &policy));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_POLICY_CONFLICT);
    expect_metadata(&refused, "path", "policies[0]");
    expect_sentence(&refused, "train");
}

Test(policy, the_same_again_is_fine) {
    cr_assert_not_null(attach_with(1, 1, &train));
    cr_assert_not_null(attach_with(1, 1, &train));
    struct declared reordered = train;
    reordered.consumers[0] = "b", reordered.consumers[1] = "a";
    cr_assert_not_null(attach_with(1, 1, &reordered), "the order of consumers doesn't matter");
}

Test(policy, another_one_is_a_conflict) {
    cr_assert_not_null(attach_with(1, 1, &train));
    struct declared other = train;
    other.keep = 3;
    expect_conflict(other);
    other = train;
    other.lag = 0;
    expect_conflict(other);
    other = train;
    other.consumers[1] = NULL;
    expect_conflict(other);
    other = train;
    other.consumers[1] = "c";
    expect_conflict(other);
}

Test(policy, next_step_is_not_compared_and_only_rises) {
    struct declared policy = train;
    policy.next_step = 5;
    cr_assert_not_null(attach_with(1, 1, &policy));
    policy.next_step = 3;
    cr_assert_not_null(attach_with(1, 1, &policy));
    expect_refused(publish(at("train", 4), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
    policy.next_step = 9;
    cr_assert_not_null(attach_with(1, 1, &policy));
    expect_refused(publish(at("train", 8), "loss"), SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
}

Test(policy, a_rising_next_step_answers_who_waits_below_it) {
    struct puller *below = pull(SW_METRICS, of_generation(1, at("train", 4)));
    struct puller *above = pull(SW_METRICS, of_generation(1, at("train", 5)));
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .next_step = 5});
    expect_refusal(below, SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_waiting(above);
}

Test(policy, a_refused_attach_changes_nothing) {
    cr_assert_not_null(attach_with(1, 1, &train));
    struct declared policies[] = {
        {.channel = "fresh", .kind = SW_METRICS, .consumers = {"a"}},
        {.channel = "train", .kind = SW_METRICS, .keep = 7},
    };
    cr_assert_null(attach_with(1, 2, policies));
    expect_refused(refused.code, SW_FAILED_PRECONDITION, SW_REASON_POLICY_CONFLICT);
    expect_metadata(&refused, "path", "policies[1]");
    cr_assert_eq(info().channel_count, 1);
    cr_assert_eq(info().lease_count, 1);
}

Test(policy, it_creates_the_channel) {
    cr_assert_not_null(attach_with(1, 1, &train));
    struct channel_info channel = channel_info("train", SW_METRICS);
    cr_assert_not(channel.has_items);
    cr_assert_eq(channel.consumer_count, 2);
    cr_assert_str_eq(channel.consumers[0].id, "a");
    cr_assert_eq(channel.latest.stage, STAGE);
}

Test(policy, it_is_declared_for_the_stage_that_attaches) {
    attach_as(1, 1, 0, 1, &train, true);
    cr_assert_eq(channel_info("train", SW_METRICS).latest.stage, 1);
}

Test(policy, a_new_generation_declares_anew) {
    cr_assert_not_null(attach_with(1, 1, &train));
    struct declared other = train;
    other.keep = 9;
    cr_assert_not_null(attach_with(2, 1, &other));
}

Test(policy, kinds_of_one_name_have_policies_of_their_own) {
    cr_assert_not_null(attach_with(1, 1, &train));
    struct declared tensors = train;
    tensors.kind = SW_TENSORS, tensors.keep = 9;
    cr_assert_not_null(attach_with(1, 1, &tensors));
}

Test(policy, only_who_may_publish_declares) {
    attach(1, STAGE, 0);
    cr_assert_null(attach_as(1, STAGE, 0, 1, &train, false));
    expect_refused(refused.code, SW_PERMISSION_DENIED, SW_REASON_NONE);
    cr_assert_eq(info().channel_count, 0);
    cr_assert_not_null(attach_reader(1, STAGE, 0));
}

/* ---- releasing ---- */

Test(release, it_never_goes_back) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .keep = 1, .consumers = {"a"}});
    expect_ok(release(SW_METRICS, at("train", 0), "a", 5));
    expect_ok(release(SW_METRICS, at("train", 0), "a", 2));
    cr_assert_eq(channel_info("train", SW_METRICS).consumers[0].release_below, 5);
}

Test(release, it_may_be_ahead_of_the_latest) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .keep = 1, .consumers = {"a"}});
    expect_ok(release(SW_METRICS, at("train", 0), "a", UINT64_MAX));
    for (uint64_t step = 1; step < 5; step++) publish(at("train", step), "loss");
    expect_refusal(pull_now(SW_METRICS, at("train", 3)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(release, undeclared_ids_and_unknown_channels_are_fine_and_leave_nothing) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"a"}});
    expect_ok(release(SW_METRICS, at("train", 0), "nobody", 5));
    expect_ok(release(SW_METRICS, at("never", 0), "a", 5));
    expect_ok(release(SW_METRICS, at("train", 0), "", 5));
    cr_assert_eq(info().channel_count, 1);
    cr_assert_eq(channel_info("train", SW_METRICS).consumer_count, 1);
}

Test(release, an_older_generation_is_superseded_and_one_to_come_ignored) {
    ATTACH_WITH(2, {.channel = "train", .kind = SW_METRICS, .consumers = {"a"}});
    expect_refused(release(SW_METRICS, of_generation(1, at("train", 0)), "a", 5), SW_ABORTED,
                   SW_REASON_SUPERSEDED);
    expect_ok(release(SW_METRICS, of_generation(3, at("train", 0)), "a", 5));
    cr_assert_eq(channel_info("train", SW_METRICS).consumers[0].release_below, 0);
}

Test(release, another_run_is_refused) {
    sw_address address = at("train", 0);
    address.run_id = "run-b";
    expect_refused(release(SW_METRICS, address, "a", 1), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
}

static struct puller *pull_as(const char *consumer, uint64_t below, sw_address address) {
    struct pull_request request = {.address = address, .consumer = {consumer, below}, .wait.no_wait = true};
    return pull_request(SW_METRICS, request, CLOCK_NEVER);
}

Test(release, it_comes_with_a_pull_whatever_that_is_answered) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .keep = 1, .consumers = {"a"}});
    for (uint64_t step = 1; step < 5; step++) publish(at("train", step), "loss");
    expect_refusal(pull_as("a", 3, at("train", 9)), SW_NOT_FOUND, SW_REASON_NOT_YET);
    expect_refusal(pull_now(SW_METRICS, at("train", 2)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
    expect_answer(pull_now(SW_METRICS, at("train", 3)), "loss");
}

Test(release, it_applies_before_its_pull_is_answered) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .keep = 1, .consumers = {"a"}});
    publish(at("train", 1), "loss");
    publish(at("train", 2), "loss");
    expect_refusal(pull_as("a", 2, at("train", 1)), SW_OUT_OF_RANGE, SW_REASON_EVICTED);
}

Test(release, a_pull_of_another_run_releases_nothing) {
    ATTACH_WITH(1, {.channel = "train", .kind = SW_METRICS, .consumers = {"a"}});
    sw_address address = at("train", 1);
    address.run_id = "run-b";
    pull_as("a", 5, address);
    cr_assert_eq(channel_info("train", SW_METRICS).consumers[0].release_below, 0);
}
STORE_SUITE(release);
