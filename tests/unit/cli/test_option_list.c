#include "client/cli/option_list.h"

#include <string.h>

#include "tests/support/test.h"

static const struct argp_option inner_options[] = {
    {"timeout", 't', "DURATION", 0, "", 0}, {"json", 'j', NULL, 0, "", 0}, {0}};
static const struct argp inner = {.options = inner_options};
static const struct argp_option options[] = {{"stage", 's', "N", 0, "", 0},
                                             {"stages", 1000, "N", 0, "", 0},
                                             {"secret", 1001, NULL, OPTION_HIDDEN, "", 0},
                                             {0}};
static const struct argp argp = {.options = options,
                                 .children = (const struct argp_child[]){{&inner, 0, NULL, 0}, {0}}};

static struct option_list list;
static const char *unknown, *meant;

static bool look(bool stops, int argc, char **argv) {
    option_list_of(&argp, &list);
    unknown = meant = NULL;
    return option_list_find_unknown(&list, argc, argv, stops, &unknown, &meant);
}
#define LOOK(stops, ...)                                                                                     \
    look(stops, (int)(sizeof((char *[]){"x", __VA_ARGS__}) / sizeof(char *)), (char *[]){"x", __VA_ARGS__})

Test(option_list, has_the_options_of_all_levels_and_those_that_argp_adds) {
    option_list_of(&argp, &list);
    cr_assert_eq(list.count, 7);
    cr_assert_str_eq(option_list_find(&list, "--json")->name, "json");
    cr_assert_str_eq(option_list_find(&list, "-t30s")->name, "timeout");
    cr_assert_str_eq(option_list_find(&list, "--help")->name, "help");
    cr_assert_null(option_list_find(&list, "--secret"));
}

Test(option_list, a_name_of_its_own_wins_over_a_beginning) {
    option_list_of(&argp, &list);
    cr_assert_str_eq(option_list_find(&list, "--stage=3")->name, "stage");
    cr_assert_str_eq(option_list_find(&list, "--stages")->name, "stages");
    cr_assert_null(option_list_find(&list, "--sta"));
    cr_assert_str_eq(option_list_find(&list, "--tim")->name, "timeout");
}

Test(option_list, an_option_that_is_none_is_found_with_what_was_meant) {
    cr_assert(LOOK(false, "train", "--jsno"));
    cr_assert_str_eq(unknown, "--jsno");
    cr_assert_str_eq(meant, "--json");
    cr_assert(LOOK(false, "--stagse=3"));
    cr_assert_str_eq(meant, "--stage");
    cr_assert(LOOK(false, "--frobnicate"));
    cr_assert_null(meant);
}

Test(option_list, what_is_a_value_or_behind_the_end_of_options_is_no_option) {
    cr_assert_not(LOOK(false, "--timeout", "--frobnicate"));
    cr_assert_not(LOOK(false, "-t", "--frobnicate"));
    cr_assert_not(LOOK(false, "-jt", "--frobnicate"));
    cr_assert_not(LOOK(false, "--", "--frobnicate"));
    cr_assert_not(LOOK(false, "-", "--json", "--tim", "3s"));
    cr_assert(LOOK(false, "-t3s", "--frobnicate"));
    cr_assert(LOOK(false, "--timeout=3s", "--frobnicate"));
    cr_assert(LOOK(false, "-tj", "--frobnicate"));
}

Test(option_list, where_it_stops_the_rest_belongs_to_somebody_else) {
    cr_assert_not(LOOK(true, "get", "--frobnicate"));
    cr_assert(LOOK(true, "--frobnicate", "get"));
}
