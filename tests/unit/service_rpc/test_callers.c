/* Each caller has its own share of calls, whoever else calls. */
#include <stdio.h>

#include "service/rpc/callers.h"
#include "service/rpc/peer_address.h"
#include "tests/support/test.h"

static struct callers callers;
static sw_error error;

static void setup(void) {
    callers_init(&callers, 2);
}
static void teardown(void) {
    cr_assert_eq(callers.by_name.count, 0);
    callers_destroy(&callers);
}
TestSuite(callers, .init = setup, .fini = teardown, .timeout = 30);

static struct caller *enter(const char *name) {
    struct caller *caller = NULL;
    return callers_enter(&callers, name, &caller, &error) == SW_OK ? caller : NULL;
}

Test(callers, one_that_has_as_many_as_it_may_is_told_so_by_name_and_others_are_not) {
    struct caller *one = enter("10.0.0.7"), *two = enter("10.0.0.7");
    cr_assert(one && one == two);
    cr_assert_null(enter("10.0.0.7"));
    cr_assert_eq(error.code, SW_RESOURCE_EXHAUSTED);
    cr_assert_eq(error.reason, SW_REASON_LIMIT);
    cr_assert_str_eq(sw_error_metadata(&error, "limit"), "calls");
    cr_assert_not_null(strstr(error.message, "10.0.0.7 has 2 calls open"), "%s", error.message);
    struct caller *other = enter("10.0.0.8");
    cr_assert_not_null(other);
    callers_leave(&callers, one);
    cr_assert_not_null(enter("10.0.0.7"));
    callers_leave(&callers, two), callers_leave(&callers, two), callers_leave(&callers, other);
}

Test(callers, none_is_remembered_that_has_no_call) {
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "10.0.%d.%d", i / 256, i % 256);
        callers_leave(&callers, enter(name));
    }
    callers_leave(&callers, NULL);
}

static void expect_address(const char *peer, const char *expected) {
    char address[PEER_ADDRESS_MAX];
    peer_address_of(peer, address);
    cr_assert_str_eq(address, expected, "%s: %s", peer, address);
}

Test(callers, an_address_is_the_same_from_every_port) {
    expect_address("ipv4:10.0.0.7:40123", "10.0.0.7");
    expect_address("ipv4:10.0.0.7:1", "10.0.0.7");
    expect_address("ipv6:%5Bfd00::7%5D:40123", "fd00::7");
    expect_address("ipv6:[fd00::7]:40123", "fd00::7");
    expect_address("ipv6:%5Bfe80::7%25eth0%5D:1", "fe80::7%25eth0");
    expect_address("unix:", "unix");
    expect_address("unix:/run/stagewire.sock", "unix");
}

Test(callers, what_is_no_address_is_cut_and_not_more) {
    expect_address("", "");
    expect_address("ipv6:%5B", "");
    expect_address("unknown", "unknown");
    expect_address("01234567890123456789012345678901234567890123456789012345678901234567890",
                   "012345678901234567890123456789012345678901234567890123456789012");
}
