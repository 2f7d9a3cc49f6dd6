#include "client/cli/nearest.h"

#include <string.h>

#include "tests/support/test.h"

static const char *const words[] = {"EVICTED", NULL, "SKIPPED", "NOT_YET"};

Test(nearest, up_to_two_letters_may_differ) {
    cr_assert_str_eq(nearest("EVICTED", words, 4), "EVICTED");
    cr_assert_str_eq(nearest("EVCITED", words, 4), "EVICTED");
    cr_assert_str_eq(nearest("EVITE", words, 4), "EVICTED");
    cr_assert_str_eq(nearest("NOTYET", words, 4), "NOT_YET");
    cr_assert_null(nearest("EVITXX", words, 4));
    cr_assert_null(nearest("", words, 4));
}

Test(nearest, the_nearest_wins) {
    const char *const near[] = {"stage", "staged", "stages"};
    cr_assert_str_eq(nearest("stagees", near, 3), "stages");
}

Test(nearest, a_word_that_is_all_changed_is_not_near) {
    const char *const tiny[] = {"a", "bc"};
    cr_assert_null(nearest("x", tiny, 2));
    cr_assert_null(nearest("xy", tiny, 2));
}

Test(nearest, words_without_end_are_near_nothing) {
    char longest[500];
    memset(longest, 'S', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const char *const candidates[] = {longest, "SKIPPED"};
    cr_assert_null(nearest(longest, candidates, 2));
    cr_assert_str_eq(nearest("SKIPED", candidates, 2), "SKIPPED");
}
