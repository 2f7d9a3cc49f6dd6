#include "client/core/watch_filter.h"
#include "tests/support/test.h"

static bool match(sw_watch_filter filter, uint32_t stage, uint32_t group, const char *channel) {
    sw_address address = {.has_stage = true, .stage = stage, .group = group, .channel = channel};
    return watch_filters_match(&filter, 1, &address);
}

Test(watch_filter, a_trailing_star_matches_the_rest) {
    sw_watch_filter filter = {.channel = "train/*"};
    cr_assert(match(filter, 0, 0, "train/loss"));
    cr_assert(match(filter, 0, 0, "train/"));
    cr_assert_not(match(filter, 0, 0, "train"));
    cr_assert(match((sw_watch_filter){.channel = "*"}, 0, 0, "x"));
    cr_assert_not(match((sw_watch_filter){.channel = "a"}, 0, 0, "ab"));
}

Test(watch_filter, what_is_not_named_matches_all) {
    cr_assert(match((sw_watch_filter){0}, 7, 9, "x"));
    cr_assert(match((sw_watch_filter){.has_stage = true, .stage = 7}, 7, 9, "x"));
    cr_assert_not(match((sw_watch_filter){.has_stage = true, .stage = 7}, 8, 9, "x"));
    cr_assert_not(match((sw_watch_filter){.has_group = true}, 7, 9, "x"));
    sw_address address = {.channel = "x"};
    cr_assert(watch_filters_match(NULL, 0, &address));
}

Test(watch_filter, the_request_says_the_same) {
    struct arena arena;
    arena_init(&arena, &allocator_system, 1 << 16);
    sw_watch_filter filters[] = {{.channel = "a*", .has_stage = true, .stage = 4}, {.has_group = true}};
    const struct channel_filter *copies = watch_filters_copy(filters, 2, &arena);
    cr_assert_eq(copies[0].stage_count, 1);
    cr_assert_eq(copies[0].stages[0], 4);
    cr_assert_eq(copies[0].group_count, 0);
    cr_assert_str_eq(copies[0].channels[0], "a*");
    cr_assert_eq(copies[1].channel_count, 0);
    cr_assert_eq(copies[1].group_count, 1);
    arena_destroy(&arena);
}
