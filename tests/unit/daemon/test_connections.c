/* Connections in all and of an address, counted by descriptor. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "proto/base/limits.h"
#include "service/daemon/config.h"
#include "service/daemon/connections.h"
#include "tests/support/test.h"

enum { ALL = 10, OF_ADDRESS = 3 };

static void setup(void) {
    cr_assert(connections_begin((struct connections_limits){ALL, OF_ADDRESS}, 1000));
}
static void teardown(void) {
    connections_end();
    cr_assert_eq(connections_count(), 0);
}
TestSuite(connections, .init = setup, .fini = teardown, .timeout = 30);

static struct sockaddr_storage peer(const char *text) {
    struct sockaddr_storage ret = {.ss_family = AF_UNIX};
    struct sockaddr_in *v4 = (void *)&ret;
    struct sockaddr_in6 *v6 = (void *)&ret;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(40000);
    } else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
    }
    return ret;
}

static bool admit(int descriptor, const char *from) {
    struct sockaddr_storage address = peer(from);
    return connections_admit(descriptor, &address);
}

static void fill(const char *from, int first) {
    for (int i = 0; i < OF_ADDRESS; i++) cr_assert(admit(first + i, from));
    cr_assert(!admit(first + OF_ADDRESS, from));
}

Test(connections, an_address_has_its_share_and_gets_it_back) {
    fill("10.0.0.7", 10);
    cr_assert(admit(20, "10.0.0.8"));
    connections_leave(11);
    cr_assert(admit(13, "10.0.0.7"));
    cr_assert(!admit(14, "10.0.0.7"));
    cr_assert_eq(connections_count(), 4);
}

Test(connections, what_is_no_connection_may_be_closed) {
    connections_leave(-1), connections_leave(5), connections_leave(999), connections_leave(100000);
    cr_assert(admit(5, "10.0.0.7"));
    connections_leave(5), connections_leave(5);
    cr_assert_eq(connections_count(), 0);
}

Test(connections, strangers_do_not_take_the_place_of_those_on_a_unix_socket) {
    for (int i = 0; i < ALL; i++) {
        char from[32];
        snprintf(from, sizeof from, "10.0.0.%d", i);
        cr_assert(admit(i, from));
    }
    cr_assert(!admit(100, "10.1.0.0"));
    for (int i = 0; i < CONNECTIONS_LOCAL; i++) cr_assert(admit(200 + i, "unix"));
    cr_assert(!admit(300, "unix"));
    connections_leave(0);
    cr_assert(!admit(100, "10.1.0.0"));
}

Test(connections, an_ipv6_network_is_one_address_and_a_mapped_ipv4_is_that) {
    cr_assert(admit(1, "2001:db8::1") && admit(2, "2001:db8::2") && admit(3, "2001:db8::ffff:3"));
    cr_assert(!admit(4, "2001:db8::4"));
    cr_assert(admit(4, "2001:db8:0:1::4"));
    fill("10.0.0.7", 10);
    cr_assert(!admit(20, "::ffff:10.0.0.7"));
}

Test(connections, one_is_read_in_turns_unless_it_comes_from_this_machine) {
    cr_assert(admit(1, "10.0.0.7") && admit(2, "10.0.0.7") && admit(3, "unix"));
    cr_assert(!connections_have_read(1, CONNECTIONS_TURN_BYTES - 1));
    cr_assert_eq(connections_may_read(1), 1);
    cr_assert_eq(connections_may_read(2), CONNECTIONS_TURN_BYTES);
    cr_assert(connections_have_read(1, 1));
    cr_assert_eq(connections_may_read(1), CONNECTIONS_TURN_BYTES);
    cr_assert(!connections_have_read(3, 1 << 30) && connections_may_read(3) == SIZE_MAX);
    cr_assert(!connections_have_read(4, 1 << 30) && connections_may_read(4) == SIZE_MAX);
}

Test(connections, whoever_comes_next_on_a_descriptor_has_a_whole_turn) {
    cr_assert(admit(1, "10.0.0.7"));
    cr_assert(!connections_have_read(1, 1000));
    connections_leave(1);
    cr_assert(admit(1, "10.0.0.8"));
    cr_assert_eq(connections_may_read(1), CONNECTIONS_TURN_BYTES);
}

Test(connections, the_defaults_are_those_of_limits_h) {
    char *argv[] = {"stagewired", "--run-id", "r", "--listen", "unix:/a", NULL}, *none[] = {NULL};
    struct config config;
    sw_error error;
    cr_assert_eq(config_load(&config, 5, argv, none, &error), SW_OK, "%s", error.message);
    cr_assert_eq(config.max_connections, LIMIT_CONNECTIONS);
    cr_assert_eq(config.max_connections_address, LIMIT_CONNECTIONS_ADDRESS);
    config_free(&config);
}
