#include <string.h>

#include "client/core/endpoint_name.h"
#include "tests/support/test.h"

Test(endpoint_name, host_and_port_or_a_unix_path_are_what_grpc_gets) {
    static const char *const names[][2] = {
        {"127.0.0.1:4317", "dns:///127.0.0.1:4317"},           {"[::1]:1", "dns:///[::1]:1"},
        {"trainer-3.pod:65535", "dns:///trainer-3.pod:65535"}, {"unix:/run/x.sock", "unix:/run/x.sock"},
        {"unix:relative.sock", "unix:relative.sock"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char target[ENDPOINT_NAME_MAX];
        sw_error error;
        cr_assert_eq(endpoint_name_target(names[i][0], target, sizeof target, &error), SW_OK, "%s: %s",
                     names[i][0], error.message);
        cr_assert_str_eq(target, names[i][1]);
    }
}

Test(endpoint_name, anything_else_is_an_invalid_argument_that_says_what_to_write) {
    static const char *const names[] = {
        NULL,
        "",
        "host",
        "host:",
        "host:0",
        "host:65536",
        "host:123456",
        "host:1x",
        ":80",
        "::1:80",
        "dns:///a:1",
        "[]:1",
        "[::1:80",
        "unix:",
        "a]:1",
        "host: 80",
        "unix:/0123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789012345678901234567890123456789",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char target[ENDPOINT_NAME_MAX] = "untouched";
        sw_error error;
        cr_assert_eq(endpoint_name_target(names[i], target, sizeof target, &error), SW_INVALID_ARGUMENT, "%s",
                     names[i] ? names[i] : "NULL");
        cr_assert_not_null(strstr(error.message, "HOST:PORT"));
        cr_assert_str_eq(target, "untouched");
    }
}
