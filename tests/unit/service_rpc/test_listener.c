/* What an endpoint may listen on, and what class that is. */
#include <string.h>

#include "service/rpc/listener.h"
#include "tests/support/test.h"

static struct listener listener;
static sw_error error;

static sw_status parse(const char *text) {
    return listener_parse(text, false, &listener, &error);
}

static void expect_class(const char *text, enum listener_class class) {
    cr_assert_eq(listener_parse(text, true, &listener, &error), SW_OK, "%s: %s", text, error.message);
    cr_assert_eq((int)listener.class, (int)class, "%s", text);
    cr_assert_str_eq(listener.name, text);
}

Test(listener, unix_loopback_and_the_rest_are_told_apart) {
    expect_class("unix:/run/x.sock", LISTENER_UNIX);
    expect_class("unix:x.sock", LISTENER_UNIX);
    expect_class("127.0.0.1:0", LISTENER_LOOPBACK);
    expect_class("127.3.2.1:80", LISTENER_LOOPBACK);
    expect_class("[::1]:4317", LISTENER_LOOPBACK);
    expect_class("0.0.0.0:4317", LISTENER_OTHER);
    expect_class("[::]:0", LISTENER_OTHER);
    expect_class("192.0.2.1:65535", LISTENER_OTHER);
}

Test(listener, beyond_this_machine_plaintext_must_be_allowed) {
    cr_assert_eq(parse("0.0.0.0:0"), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "--insecure-plaintext"));
    cr_assert_eq(parse("127.0.0.1:0"), SW_OK);
}

Test(listener, what_is_no_address_is_refused_and_shown) {
    const char *const wrong[] = {
        "",         "127.0.0.1",    "127.0.0.1:",   ":80",  "127.0.0.1:65536", "127.0.0.1:8o",
        "::1:4317", "127.0.0.1:-1", "127.0.0.1: 1", "[]:1", "127.0.0.1:123456"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(parse(wrong[i]), SW_INVALID_ARGUMENT, "%s", wrong[i]);
        cr_assert_not_null(strstr(error.message, "127.0.0.1:0"), "%s", error.message);
    }
}

Test(listener, a_unix_path_must_fit_a_socket) {
    char path[200] = "unix:/";
    cr_assert_eq(parse("unix:"), SW_INVALID_ARGUMENT);
    cr_assert_eq(parse("unix:/a%20b"), SW_INVALID_ARGUMENT);
    memset(path + 6, 'p', 106);
    cr_assert_eq(parse(path), SW_OK, "107 bytes fit");
    path[6 + 106] = 'p';
    cr_assert_eq(parse(path), SW_INVALID_ARGUMENT, "108 don't");
    cr_assert_not_null(strstr(error.message, "108 bytes"));
}

Test(listener, one_for_probes_is_a_class_of_its_own_wherever_it_is) {
    const char *const fine[] = {"127.0.0.1:0", "0.0.0.0:9090"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        cr_assert_eq(listener_parse_for_probes(fine[i], &listener, &error), SW_OK, "%s", error.message);
        cr_assert_eq((int)listener.class, LISTENER_HEALTH);
    }
    cr_assert_eq(listener_parse_for_probes("unix:/run/x.sock", &listener, &error), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "write HOST:PORT"));
    cr_assert_eq(listener_parse_for_probes("9090", &listener, &error), SW_INVALID_ARGUMENT);
}
