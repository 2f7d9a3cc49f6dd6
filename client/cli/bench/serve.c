#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/cli/bench/address.h"
#include "client/cli/bench/bench.h"
#include "client/cli/bench/raw.h"
#include "client/cli/doctor/wire.h"
#include "client/cli/memory.h"
#include "client/cli/messages.h"
#include "proto/base/clock.h"

#define LOOPBACK    "127.0.0.1:0"
#define MOST_MS     60000 /* of a connection: the next one waits for its end */
#define GREETING_MS 2000

static int64_t in_ms(int64_t ms) {
    return clock_after(clock_now_ms(&clock_system), ms);
}

static enum cli_exit listen_on(const char *who, const char *name, int *ret_fd) {
    struct addrinfo *found;
    enum cli_exit code = address_find(who, name, &found);
    if (code != EXIT_OK) return code;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_open = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 8) == 0;
    int why = errno;
    freeaddrinfo(found);
    *ret_fd = fd;
    if (is_open) return EXIT_OK;
    if (fd >= 0) close(fd);
    return messages_say(who, EXIT_INTERNAL, "%s: %s", name, strerror(why));
}

static void say_where(int fd) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char text[ADDRESS_TEXT_MAX];
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0) return;
    address_in_text((struct sockaddr *)&own, size, text);
    printf("%s\n", text);
    fflush(stdout);
}

static enum wire_end answer_one(struct wire *wire, char wish, char *chunk) {
    if (wish == RAW_STREAM) return wire_write(wire, chunk, RAW_CHUNK, in_ms(RAW_LOOK_MS));
    enum wire_end end = wire_read(wire, chunk, 1, in_ms(RAW_LOOK_MS));
    return end == WIRE_OK ? wire_write(wire, chunk, 1, in_ms(RAW_LOOK_MS)) : end;
}

/* Whoever is slow is waited for, but no longer than a connection may last. */
static void answer(const struct bench *bench, int fd, char *chunk, int64_t end_ms) {
    struct wire wire = {.fd = fd};
    char wish;
    enum wire_end end = wire_read(&wire, &wish, 1, in_ms(GREETING_MS));
    if (end == WIRE_OK && wish != RAW_ECHO && wish != RAW_STREAM) end = WIRE_CLOSED;
    while ((end == WIRE_OK || end == WIRE_TIMED_OUT) && clock_now_ms(&clock_system) < end_ms &&
           !bench_is_interrupted((void *)bench))
        end = answer_one(&wire, wish, chunk);
    wire_close(&wire);
}

static enum cli_exit accept_until(const struct bench *bench, int fd, char *chunk, int64_t end_ms) {
    for (int64_t left; (left = end_ms - clock_now_ms(&clock_system)) > 0;) {
        struct pollfd descriptors[] = {{.fd = fd, .events = POLLIN},
                                       {.fd = bench->interrupts, .events = POLLIN}};
        poll(descriptors, 2, left > MOST_MS ? MOST_MS : (int)left);
        if (descriptors[1].revents) return EXIT_INTERRUPTED;
        if (!descriptors[0].revents) continue;
        int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (peer < 0) continue;
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        answer(bench, peer, chunk, in_ms(left < MOST_MS ? left : MOST_MS));
    }
    return EXIT_OK;
}

enum cli_exit bench_serve(const struct bench *bench) {
    const char *name = bench->options.endpoint ? bench->options.endpoint : LOOPBACK;
    int fd;
    enum cli_exit code = listen_on(bench->options.who, name, &fd);
    if (code != EXIT_OK) return code;
    say_where(fd);
    char *chunk = memory_check(calloc(1, RAW_CHUNK));
    code = accept_until(bench, fd, chunk, in_ms(bench->duration_ms));
    free(chunk);
    close(fd);
    return code;
}
