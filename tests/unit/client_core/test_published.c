#include "client/core/published.h"
#include "tests/support/test.h"

static struct published published;

static void set_up(void) {
    published_init(&published, &allocator_system);
    published_generation(&published, 2);
}
static void tear_down(void) {
    published_destroy(&published);
}

TestSuite(published, .init = set_up, .fini = tear_down);

static void publish(sw_address address) {
    published_item(&published, &address, SW_METRICS);
}

static uint64_t step_of(const char *channel) {
    return published_step(&published, 3, 0, channel, SW_METRICS);
}

Test(published, the_newest_step_of_each_channel_is_known) {
    publish((sw_address){.channel = "train", .step = 7});
    publish((sw_address){.channel = "train", .step = 5});
    publish((sw_address){.channel = "eval", .step = 90, .generation = 2, .has_stage = true, .stage = 3});
    cr_assert_eq(step_of("train"), 7);
    cr_assert_eq(step_of("eval"), 90);
    cr_assert_eq(step_of("other"), 0);
}

Test(published, other_stages_groups_and_kinds_are_others) {
    publish((sw_address){.channel = "train", .step = 7, .has_stage = true, .stage = 2});
    publish((sw_address){.channel = "train", .step = 8, .group = 1});
    sw_address tensors = {.channel = "train", .step = 9};
    published_item(&published, &tensors, SW_TENSORS);
    cr_assert_eq(step_of("train"), 0);
}

Test(published, a_newer_generation_begins_anew) {
    publish((sw_address){.channel = "train", .step = 7});
    published_generation(&published, 2);
    cr_assert_eq(step_of("train"), 7);
    published_generation(&published, 3);
    cr_assert_eq(step_of("train"), 0);
    publish((sw_address){.channel = "train", .step = 7, .generation = 2});
    cr_assert_eq(step_of("train"), 0, "what comes late is not of it");
}

Test(published, without_a_lease_nothing_is_remembered) {
    struct published none;
    published_init(&none, &allocator_system);
    sw_address address = {.channel = "train", .step = 7};
    published_item(&none, &address, SW_METRICS);
    cr_assert(list_empty(&none.channels));
    published_destroy(&none);
}
