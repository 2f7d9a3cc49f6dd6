#include "client/core/released.h"
#include "tests/support/test.h"

static struct released released;
static sw_address address;

static void set_up(void) {
    released_init(&released, &allocator_system);
    address = (sw_address){.generation = 1, .has_stage = true, .stage = 3, .channel = "train"};
}

static void tear_down(void) {
    released_destroy(&released);
}

TestSuite(released, .init = set_up, .fini = tear_down);

struct pulling {
    struct released_ticket ticket;
    sw_address asked, answered;
    uint64_t below;
};

static void begin(struct pulling *pull, uint64_t step) {
    pull->asked = address;
    pull->asked.step = step;
    pull->answered = pull->asked;
    released_begin(&released, &pull->ticket, &pull->asked, SW_METRICS, false, false);
    pull->below = released_below(&released, &pull->ticket);
}

static void arrive(struct pulling *pull) {
    released_end(&released, &pull->ticket, &pull->answered);
}

static uint64_t pull_whole(uint64_t step) {
    struct pulling pull;
    begin(&pull, step);
    arrive(&pull);
    return pull.below;
}

Test(released, what_arrived_whole_goes_with_the_next_pull_of_a_later_step) {
    cr_assert_eq(pull_whole(4), 0);
    cr_assert_eq(pull_whole(5), 5);
    cr_assert_eq(pull_whole(9), 6);
    cr_assert_eq(pull_whole(10), 10);
}

Test(released, the_step_that_is_pulled_may_have_further_calls) {
    pull_whole(4);
    cr_assert_eq(pull_whole(4), 4);
    cr_assert_eq(pull_whole(4), 4);
    cr_assert_eq(pull_whole(5), 5);
}

Test(released, what_did_not_arrive_is_not_released) {
    struct pulling pull;
    pull_whole(4);
    begin(&pull, 5);
    released_end(&released, &pull.ticket, NULL);
    cr_assert_eq(pull_whole(6), 5);
}

Test(released, a_step_of_which_a_pull_is_under_way_stays) {
    struct pulling slow, next;
    pull_whole(4);
    begin(&slow, 5);
    cr_assert_eq(pull_whole(6), 5);
    begin(&next, 7);
    cr_assert_eq(next.below, 5);
    arrive(&slow);
    arrive(&next);
    cr_assert_eq(pull_whole(8), 8);
}

Test(released, an_older_step_may_still_be_pulled) {
    pull_whole(20);
    cr_assert_eq(pull_whole(10), 10);
    cr_assert_eq(pull_whole(30), 21);
}

Test(released, the_latest_may_be_the_same_again) {
    struct released_ticket ticket;
    pull_whole(4);
    released_begin(&released, &ticket, &address, SW_METRICS, true, false);
    cr_assert_eq(released_below(&released, &ticket), 4);
    struct pulling meanwhile;
    begin(&meanwhile, 6);
    cr_assert_eq(meanwhile.below, 4);
    arrive(&meanwhile);
    sw_address answered = address;
    answered.step = 6;
    released_end(&released, &ticket, &answered);
    cr_assert_eq(pull_whole(7), 7);
}

Test(released, channels_and_kinds_and_stages_do_not_mix) {
    pull_whole(4);
    address.channel = "eval";
    cr_assert_eq(pull_whole(5), 0);
    address.channel = "train";
    address.stage = 2;
    cr_assert_eq(pull_whole(5), 0);
    address.stage = 3;
    address.group = 1;
    cr_assert_eq(pull_whole(5), 0);
    address.group = 0;
    struct released_ticket ticket;
    address.step = 5;
    released_begin(&released, &ticket, &address, SW_TENSORS, false, false);
    cr_assert_eq(released_below(&released, &ticket), 0);
    released_end(&released, &ticket, NULL);
}

Test(released, a_new_generation_owes_nothing_to_the_old_one) {
    pull_whole(40);
    address.generation = 2;
    cr_assert_eq(pull_whole(41), 0);
    cr_assert_eq(pull_whole(42), 42);
    address.generation = 1;
    cr_assert_eq(pull_whole(43), 0, "the old one is forgotten");
    address.generation = 2;
    cr_assert_eq(pull_whole(44), 43, "and a late answer of it changes nothing");
}

/* The endpoint may have moved to another generation, or another stage may have begun: so nothing goes with
 * the pull, and each channel's is said with its whole address. */
Test(released, a_pull_that_leaves_generation_or_stage_open_releases_by_itself) {
    pull_whole(4);
    pull_whole(7);
    struct released_ticket ticket;
    sw_address open = {.channel = "train", .step = 8}, said;
    uint64_t below;
    struct released_channel *cursor = NULL;
    released_begin(&released, &ticket, &open, SW_METRICS, false, false);
    cr_assert_eq(released_below(&released, &ticket), 0);
    cr_assert(released_next(&released, &ticket, &cursor, &said, &below));
    cr_assert_eq(below, 8);
    cr_assert_eq(said.generation, 1);
    cr_assert(said.has_stage);
    cr_assert_eq(said.stage, 3);
    cr_assert_not(released_next(&released, &ticket, &cursor, &said, &below));
    cursor = NULL;
    cr_assert_not(released_next(&released, &ticket, &cursor, &said, &below), "once is enough");
    released_end(&released, &ticket, NULL);
}

Test(released, a_pull_that_leaves_the_stage_open_protects_its_step_everywhere) {
    struct released_ticket ticket;
    sw_address open = {.channel = "train", .step = 5};
    pull_whole(4);
    released_begin(&released, &ticket, &open, SW_METRICS, false, false);
    cr_assert_eq(pull_whole(9), 5);
    cr_assert_eq(pull_whole(10), 5);
    released_end(&released, &ticket, NULL);
    cr_assert_eq(pull_whole(11), 11);
}

static bool may_resume(uint64_t below) {
    return released_may_resume(&released, &address, SW_METRICS, below);
}

Test(released, who_pulls_a_step_below_may_resume_until_it_has_arrived) {
    struct pulling pull;
    begin(&pull, 5);
    cr_assert_not(may_resume(5));
    cr_assert(may_resume(6));
    arrive(&pull);
    cr_assert_not(may_resume(6));
}

Test(released,
     a_pull_that_leaves_generation_or_stage_open_may_be_one_to_resume_and_another_channels_is_none) {
    struct released_ticket ticket;
    sw_address open = {.channel = "train", .step = 5}, other = {.channel = "aux", .step = 5};
    released_begin(&released, &ticket, &open, SW_METRICS, false, false);
    cr_assert(may_resume(6));
    cr_assert_not(released_may_resume(&released, &address, SW_TENSORS, 6));
    released_end(&released, &ticket, NULL);
    released_begin(&released, &ticket, &other, SW_METRICS, false, false);
    cr_assert_not(may_resume(6));
    released_end(&released, &ticket, NULL);
    open.group = 1;
    released_begin(&released, &ticket, &open, SW_METRICS, false, false);
    cr_assert_not(may_resume(6));
    released_end(&released, &ticket, NULL);
}

Test(released, what_was_kept_is_released_by_the_caller_alone) {
    struct released_ticket ticket;
    sw_address kept = address;
    pull_whole(4);
    kept.step = 5;
    released_begin(&released, &ticket, &kept, SW_METRICS, false, true);
    released_end(&released, &ticket, &kept);
    cr_assert_eq(pull_whole(6), 5);
    cr_assert_eq(pull_whole(7), 5);
    released_told(&released, &address, SW_METRICS, 5);
    cr_assert_eq(pull_whole(8), 5, "below 5 is not 5");
    released_told(&released, &address, SW_METRICS, 6);
    cr_assert_eq(pull_whole(9), 9);
}
