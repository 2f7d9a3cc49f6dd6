#include "client/cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

Test(commands, a_slip_of_the_pen_gets_the_command_that_was_meant) {
    cr_assert_str_eq(command_suggest("ifno"), "info");
    cr_assert_str_eq(command_suggest("pubish"), "publish");
    cr_assert_str_eq(command_suggest("gte"), "get");
    cr_assert_str_eq(command_suggest("demos"), "demo");
    cr_assert_str_eq(command_suggest("INFO") ? command_suggest("INFO") : "none", "none");
    cr_assert_null(command_suggest("frobnicate"));
    cr_assert_null(command_suggest("x"));
    char longest[500];
    memset(longest, 'i', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    cr_assert_null(command_suggest(longest));
}

Test(commands, what_is_not_for_people_is_not_suggested) {
    cr_assert_not_null(command_find("demo-stage"));
    cr_assert_null(command_suggest("demo-stag"));
    cr_assert_null(command_find("demo-"));
}

Test(commands, every_command_for_people_says_what_it_does_and_gives_examples) {
    for (const struct command *command = commands; command->name; command++) {
        if (!command->summary) continue;
        cr_assert_not_null(command->argp, "%s", command->name);
        cr_assert_not_null(strstr(command->argp->doc, "\vExamples:\n  "), "%s", command->name);
        char itself[64];
        snprintf(itself, sizeof itself, " stagewire %s", command->name);
        cr_assert_not_null(strstr(command->argp->doc, itself), "%s", command->name);
    }
}

Test(commands, each_class_of_failure_has_an_exit_code) {
    cr_assert_eq(exit_code_of(SW_OK), 0);
    cr_assert_eq(exit_code_of(SW_INTERNAL), 1);
    cr_assert_eq(exit_code_of(SW_UNKNOWN), 1);
    cr_assert_eq(exit_code_of(SW_NOT_FOUND), 3);
    cr_assert_eq(exit_code_of(SW_OUT_OF_RANGE), 3);
    cr_assert_eq(exit_code_of(SW_DEADLINE_EXCEEDED), 4);
    cr_assert_eq(exit_code_of(SW_UNAVAILABLE), 5);
    cr_assert_eq(exit_code_of(SW_INVALID_ARGUMENT), 6);
    cr_assert_eq(exit_code_of(SW_FAILED_PRECONDITION), 6);
    cr_assert_eq(exit_code_of(SW_ALREADY_EXISTS), 6);
    cr_assert_eq(exit_code_of(SW_PERMISSION_DENIED), 6);
    cr_assert_eq(exit_code_of(SW_ABORTED), 7);
    cr_assert_eq(exit_code_of(SW_CANCELLED), 7);
    cr_assert_eq(exit_code_of(SW_DATA_LOSS), 8);
    cr_assert_eq(exit_code_of(SW_RESOURCE_EXHAUSTED), 9);
}
