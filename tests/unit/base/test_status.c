#include <string.h>

#include <stagewire/status.h>

#include "tests/support/test.h"

Test(status, codes_have_the_numbers_and_names_of_grpc) {
    cr_assert_eq(SW_OK, 0);
    cr_assert_eq(SW_DEADLINE_EXCEEDED, 4);
    cr_assert_eq(SW_UNAUTHENTICATED, 16);
    cr_assert_str_eq(sw_status_name(SW_NOT_FOUND), "NOT_FOUND");
    cr_assert_str_eq(sw_status_name((sw_status)99), "UNKNOWN");
    cr_assert_str_eq(sw_status_name((sw_status)-1), "UNKNOWN");
}

Test(status, every_reason_is_found_by_its_name) {
    for (int i = 1; i < SW_REASON_COUNT; i++) {
        const char *name = sw_reason_name((sw_reason)i);
        cr_assert_neq(strlen(name), 0);
        cr_assert_eq(sw_reason_from_name(name), (sw_reason)i, "%s", name);
        cr_assert_neq(sw_reason_status((sw_reason)i), SW_OK);
    }
}

static const char *column(int column, sw_reason reason) {
    return column == 0   ? sw_reason_meaning(reason)
           : column == 1 ? sw_reason_cause(reason)
                         : sw_reason_remedy(reason);
}

Test(status, every_reason_says_what_it_means_why_it_happens_and_what_to_do) {
    for (int what = 0; what < 3; what++) {
        for (int i = 0; i <= SW_REASON_COUNT; i++) {
            const char *text = column(what, (sw_reason)i);
            cr_assert_gt(strlen(text), 8, "%d %d", what, i);
            cr_assert_neq(text[strlen(text) - 1], '.');
            cr_assert_eq(strstr(text, "  "), NULL, "%s", text);
            for (int j = 1; j < i && i < SW_REASON_COUNT && what > 0; j++)
                cr_assert_str_neq(text, column(what, (sw_reason)j));
        }
    }
}

Test(status, the_library_says_its_version) {
    cr_assert_str_eq(sw_version(), STAGEWIRE_VERSION);
}

Test(status, reasons_come_with_their_code) {
    cr_assert_eq(sw_reason_status(SW_REASON_EVICTED), SW_OUT_OF_RANGE);
    cr_assert_eq(sw_reason_status(SW_REASON_NOT_YET), SW_DEADLINE_EXCEEDED);
    cr_assert_eq(sw_reason_status(SW_REASON_MALFORMED), SW_INVALID_ARGUMENT);
    cr_assert_eq(sw_reason_status(SW_REASON_CHECKSUM), SW_DATA_LOSS);
}

Test(status, a_reason_that_is_none_is_said_to_be_none) {
    cr_assert_eq(sw_reason_from_name("SOMETHING_ELSE"), SW_REASON_NONE);
    cr_assert_eq(sw_reason_from_name(""), SW_REASON_NONE);
    cr_assert_eq(sw_reason_from_name(NULL), SW_REASON_NONE);
    cr_assert_str_eq(sw_reason_name(SW_REASON_NONE), "");
    cr_assert_str_eq(sw_reason_name((sw_reason)1000), "UNKNOWN");
    cr_assert_str_eq(sw_reason_name((sw_reason)-1), "UNKNOWN");
    cr_assert_eq(sw_reason_status((sw_reason)1000), SW_UNKNOWN);
}
