#include <string.h>

#include "proto/base/sized.h"
#include "tests/support/test.h"

struct old {
    size_t size;
    int timeout;
};

struct new {
    size_t size;
    int timeout;
    int retries;
    const char *name;
};

static const struct old old_defaults = {.timeout = 10};
static const struct new new_defaults = {.timeout = 10, .retries = 3, .name = "nobody"};

Test(sized, a_newer_library_writes_no_more_than_an_older_program_has_room_for) {
    struct {
        struct old options;
        char beyond[sizeof(struct new)];
    } program, untouched;
    memset(&program, 0xa5, sizeof program);
    untouched = program;
    sized_init(&program.options, sizeof program.options, &new_defaults, sizeof new_defaults);
    cr_assert_eq(program.options.size, sizeof program.options);
    cr_assert_eq(program.options.timeout, 10);
    cr_assert_eq(memcmp(program.beyond, untouched.beyond, sizeof program.beyond), 0);
}

Test(sized, what_an_older_program_cannot_set_keeps_its_default) {
    struct old program;
    sized_init(&program, sizeof program, &new_defaults, sizeof new_defaults);
    program.timeout = 20;
    struct new known = new_defaults;
    sw_error error;
    cr_assert_eq(sized_read(&program, &known, sizeof known, "x_init", &error), SW_OK);
    cr_assert_eq(known.timeout, 20);
    cr_assert_str_eq(known.name, "nobody");
}

Test(sized, an_older_library_takes_a_newer_program_until_it_sets_what_only_the_newer_one_knows) {
    struct new program;
    memset(&program, 0xa5, sizeof program);
    sized_init(&program, sizeof program, &old_defaults, sizeof old_defaults);
    program.timeout = 30;
    struct old known = old_defaults;
    sw_error error;
    cr_assert_eq(sized_read(&program, &known, sizeof known, "x_init", &error), SW_OK);
    cr_assert_eq(known.timeout, 30);
    program.name = "somebody";
    cr_assert_eq(sized_read(&program, &known, sizeof known, "x_init", &error), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "an option is set that this library, stagewire " STAGEWIRE_VERSION
                                    ", does not know; install the one that the program was built with");
}

Test(sized, options_that_were_never_filled_are_refused_with_the_call_that_fills_them) {
    struct old program = {.timeout = 20}, known = old_defaults;
    sw_error error;
    cr_assert_eq(sized_read(&program, &known, sizeof known, "x_init", &error), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(error.message, "the options have no size; fill them with x_init before setting any");
    memset(&program, 0xa5, sizeof program);
    cr_assert_eq(sized_read(&program, &known, sizeof known, "x_init", &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(known.timeout, 10);
}
