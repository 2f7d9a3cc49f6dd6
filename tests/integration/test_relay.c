/* That the relay does what tests believe of it: one plain connection through it, seen from both ends. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { PATIENCE_MS = 20000 };

static int upstream, client, endpoint;
static struct relay *relay;

static int listen_somewhere(char *ret_target, size_t size) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    snprintf(ret_target, size, "127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

static int connect_to_relay(void) {
    unsigned port;
    cr_assert_eq(sscanf(relay_target(relay), "127.0.0.1:%u", &port), 1);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static bool is_readable(int fd, int timeout_ms) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, timeout_ms) == 1;
}

static int accept_one(int listener) {
    cr_assert(is_readable(listener, PATIENCE_MS), "nobody came");
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static void open_all(void) {
    char target[64];
    upstream = listen_somewhere(target, sizeof target);
    relay = relay_open(target);
}

static void close_all(void) {
    relay_close(relay);
    close(upstream);
}

TestSuite(relay, .init = open_all, .fini = close_all, .timeout = 60);

static void begin(void) {
    client = connect_to_relay();
    endpoint = accept_one(upstream);
}

static void say(int fd, const char *text) {
    cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* All of it, and then the end; or what came before an error. */
static void hears(int fd, const char *text, int expected_error) {
    char heard[256] = "";
    size_t size = 0;
    for (;;) {
        cr_assert(is_readable(fd, PATIENCE_MS), "only \"%s\"", heard);
        ssize_t got = read(fd, heard + size, sizeof heard - 1 - size);
        if (got > 0) {
            size += (size_t)got;
            continue;
        }
        cr_assert_eq(got < 0 ? errno : 0, expected_error, "%s", strerror(errno));
        break;
    }
    cr_assert_str_eq(heard, text);
}

static void hears_so_far(int fd, const char *text) {
    char heard[256] = "";
    for (size_t size = 0; size < strlen(text);) {
        cr_assert(is_readable(fd, PATIENCE_MS), "only \"%s\"", heard);
        ssize_t got = read(fd, heard + size, strlen(text) - size);
        cr_assert_gt(got, 0);
        size += (size_t)got;
    }
    cr_assert_str_eq(heard, text);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

Test(relay, passes_on_what_is_said) {
    begin();
    say(client, "question");
    hears_so_far(endpoint, "question");
    say(endpoint, "answer");
    hears_so_far(client, "answer");
    cr_assert_eq(relay_bytes(relay, RELAY_TO_ENDPOINT), 8);
}

Test(relay, cuts_at_the_very_byte) {
    begin();
    relay_cut_after(relay, RELAY_TO_CLIENT, 5);
    say(endpoint, "0123456789");
    hears(client, "01234", 0);
}

Test(relay, resets_after_the_very_byte) {
    begin();
    relay_reset_after(relay, RELAY_TO_CLIENT, 5);
    say(endpoint, "0123456789");
    hears(endpoint, "", ECONNRESET);
    cr_assert_eq(relay_bytes(relay, RELAY_TO_CLIENT), 5);
}

Test(relay, resets_both_ends) {
    begin();
    relay_reset(relay);
    hears(client, "", ECONNRESET);
    hears(endpoint, "", ECONNRESET);
}

Test(relay, half_closes_one_way_and_passes_on_the_other) {
    begin();
    say(client, "before");
    hears_so_far(endpoint, "before");
    relay_half_close(relay, RELAY_TO_ENDPOINT);
    hears(endpoint, "", 0);
    say(client, "after");
    say(endpoint, "answer");
    hears_so_far(client, "answer");
}

Test(relay, stalls_one_way_until_told_otherwise) {
    begin();
    relay_stall_way(relay, RELAY_TO_ENDPOINT, true);
    say(client, "question");
    say(endpoint, "answer");
    hears_so_far(client, "answer");
    cr_assert_not(is_readable(endpoint, 50));
    relay_stall_way(relay, RELAY_TO_ENDPOINT, false);
    hears_so_far(endpoint, "question");
}

Test(relay, delays_and_keeps_the_order) {
    begin();
    relay_delay(relay, RELAY_TO_CLIENT, 100);
    int64_t begun_ms = now_ms();
    say(endpoint, "a");
    cr_assert(relay_wait_for_bytes(relay, RELAY_TO_CLIENT, 1, PATIENCE_MS));
    relay_delay(relay, RELAY_TO_CLIENT, 0);
    say(endpoint, "b");
    hears_so_far(client, "ab");
    cr_assert_geq(now_ms() - begun_ms, 100);
}

Test(relay, says_everything_twice_and_passes_on_one_answer) {
    relay_duplicate(relay, true);
    begin();
    int second = accept_one(upstream);
    say(client, "question");
    hears_so_far(endpoint, "question");
    hears_so_far(second, "question");
    say(endpoint, "x");
    say(second, "x");
    hears_so_far(client, "x");
    cr_assert_not(is_readable(client, 50));
    close(client);
    hears(second, "", 0);
}

Test(relay, throws_out_whoever_connects_while_it_refuses) {
    relay_refuse(relay, true);
    client = connect_to_relay();
    hears(client, "", 0);
    relay_heal(relay);
    begin();
    say(client, "question");
    hears_so_far(endpoint, "question");
}

Test(relay, leads_elsewhere_whoever_connects_from_then_on) {
    char target[64];
    int elsewhere = listen_somewhere(target, sizeof target);
    begin();
    relay_retarget(relay, target);
    int second = connect_to_relay();
    int found = accept_one(elsewhere);
    say(second, "new");
    hears_so_far(found, "new");
    say(client, "old");
    hears_so_far(endpoint, "old");
}
