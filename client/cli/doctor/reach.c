#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/memory.h"
#include "client/cli/stopwatch.h"
#include "proto/base/clock.h"

#define ADDRESS_WORDS 64

/* ---- names ---- */

/* Asks the resolver, which may take its time, and doesn't wait longer than the deadline. What it still writes
 * to then is left to it. */
static int look_up(const struct doctor *doctor, struct addrinfo **ret, bool *ret_timed_out) {
    struct gaicb *asked = memory_check(calloc(1, sizeof *asked));
    struct addrinfo *wish = memory_check(calloc(1, sizeof *wish));
    wish->ai_socktype = SOCK_STREAM;
    *asked = (struct gaicb){.ar_name = doctor->host, .ar_service = doctor->port, .ar_request = wish};
    struct gaicb *list[] = {asked};
    int result = getaddrinfo_a(GAI_NOWAIT, list, 1, NULL);
    *ret_timed_out = false;
    while (result == 0 && (result = gai_error(asked)) == EAI_INPROGRESS) {
        int64_t left = doctor_left_ms(doctor);
        struct timespec most = {left / 1000, left % 1000 * 1000000};
        result = gai_suspend((const struct gaicb *const *)list, 1, &most);
        *ret_timed_out = result == EAI_AGAIN;
        if (*ret_timed_out && gai_cancel(asked) == EAI_NOTCANCELED) return EAI_AGAIN;
        if (*ret_timed_out) break;
        result = 0;
    }
    if (result == 0) *ret = asked->ar_result;
    free(wish);
    free(asked);
    return result;
}

static void put_address(const struct sockaddr *address, socklen_t size, char text[ADDRESS_WORDS]) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
        0)
        snprintf(text, ADDRESS_WORDS, "an address of a strange kind");
    else
        snprintf(text, ADDRESS_WORDS, address->sa_family == AF_INET6 ? "[%.45s]:%s" : "%.45s:%s", host, port);
}

static void say_found(struct doctor *doctor) {
    char first[ADDRESS_WORDS];
    size_t count = 0;
    for (const struct addrinfo *at = doctor->found; at; at = at->ai_next) count++;
    put_address(doctor->found->ai_addr, doctor->found->ai_addrlen, first);
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, doctor->host, &v4) == 1 || inet_pton(AF_INET6, doctor->host, &v6) == 1)
        report_ok(&doctor->report, "name", "%s is an address, so there is nothing to look up", doctor->host);
    else if (count == 1)
        report_ok(&doctor->report, "name", "%s is %s", doctor->host, first);
    else
        report_ok(&doctor->report, "name", "%s has %zu addresses, the first is %s", doctor->host, count,
                  first);
}

bool check_name(struct doctor *doctor) {
    if (doctor->is_unix) return true;
    bool timed_out = false;
    int result = look_up(doctor, &doctor->found, &timed_out);
    if (result == 0) {
        say_found(doctor);
        return true;
    }
    const char *host = doctor->host;
    if (timed_out) {
        report_wrong(&doctor->report, "name", EXIT_UNREACHABLE, "no name server said in time what %s is",
                     host);
        report_mend(&doctor->report, "see /etc/resolv.conf and 'getent hosts %s'; or name the address", host);
    } else {
        report_wrong(&doctor->report, "name", EXIT_UNREACHABLE, "%s: %s", host, gai_strerror(result));
        report_mend(&doctor->report,
                    result == EAI_AGAIN
                        ? "no name server answers: see /etc/resolv.conf; or name the address instead of %s"
                        : "is it spelt right? 'getent hosts %s' asks the same; or name the address",
                    host);
    }
    return false;
}

/* ---- TCP ---- */

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static void mend_tcp(struct doctor *doctor, enum wire_end end, int error) {
    struct report *report = &doctor->report;
    if (end == WIRE_TIMED_OUT || error == ETIMEDOUT)
        report_mend(report,
                    "packets are dropped: a firewall, a security group or a NetworkPolicy must let port "
                    "%s through; or the machine is down",
                    doctor->port);
    else if (error == ECONNREFUSED)
        report_mend(report,
                    "nobody listens there: start stagewired with --listen and that port, on an address "
                    "that others reach (127.0.0.1 is for its own machine)");
    else if (error == ENETUNREACH || error == EHOSTUNREACH)
        report_mend(report, "there is no way there: see 'ip route get', and whether the address is right");
}

/* What speaks against the addresses that came before the one that took the connection. */
struct failures {
    char text[512];
    size_t count;
    enum wire_end end;
    int error;
};

static void add_failure(struct failures *failures, const char *address, enum wire_end end, int error) {
    size_t used = strlen(failures->text);
    const char *why = end == WIRE_TIMED_OUT ? "no answer in time" : strerror(error);
    snprintf(failures->text + used, sizeof failures->text - used, "%s%s: %s", used ? "; " : "", address, why);
    if (failures->count++ > 0) return;
    failures->end = end;
    failures->error = error;
}

static void take_address(struct doctor *doctor, const struct sockaddr *address, socklen_t size) {
    memcpy(&doctor->address, address, size);
    doctor->address_size = size;
    doctor->is_near = address->sa_family == AF_UNIX || is_loopback(address);
}

/* What is left of the step, in equal parts for this address and those behind it. */
static int64_t deadline_of(const struct addrinfo *at, int64_t end_ms) {
    int64_t now = clock_now_ms(&clock_system), count = 0;
    for (; at; at = at->ai_next) count++;
    return now + (end_ms - now) / count;
}

static bool check_tcp(struct doctor *doctor) {
    struct failures failures = {0};
    int64_t end_ms = doctor_deadline(doctor);
    for (const struct addrinfo *at = doctor->found; at; at = at->ai_next) {
        char words[ADDRESS_WORDS], took[DOCTOR_DURATION_BYTES];
        put_address(at->ai_addr, at->ai_addrlen, words);
        int64_t begun = stopwatch_ns();
        enum wire_end end = wire_connect(&doctor->wire, at->ai_addr, at->ai_addrlen, deadline_of(at, end_ms));
        if (end != WIRE_OK) {
            add_failure(&failures, words, end, doctor->wire.error);
            wire_close(&doctor->wire);
            continue;
        }
        doctor_duration(stopwatch_ns() - begun, took);
        take_address(doctor, at->ai_addr, at->ai_addrlen);
        if (failures.count == 0)
            report_ok(&doctor->report, "tcp", "%s took the connection in %s", words, took);
        else
            report_note(&doctor->report, "tcp", "%s took the connection in %s; but %s", words, took,
                        failures.text);
        return true;
    }
    report_wrong(&doctor->report, "tcp", EXIT_UNREACHABLE, "%s", failures.text);
    mend_tcp(doctor, failures.end, failures.error);
    return false;
}

/* ---- Unix sockets ---- */

static bool is_socket_there(struct doctor *doctor) {
    struct stat facts;
    const char *path = doctor->path;
    if (stat(path, &facts) != 0) {
        int why = errno;
        report_wrong(&doctor->report, "socket", EXIT_UNREACHABLE, "%s: %s", path, strerror(why));
        report_mend(&doctor->report,
                    why == EACCES ? "a folder on the way is closed to this user: see 'namei -l %s'"
                                  : "start stagewired with --listen unix:%s, or see which path it listens on",
                    path);
        return false;
    }
    if (S_ISSOCK(facts.st_mode)) return true;
    report_wrong(&doctor->report, "socket", EXIT_UNREACHABLE, "%s is %s, not a socket", path,
                 S_ISDIR(facts.st_mode) ? "a directory" : "a file");
    report_mend(&doctor->report, "name the socket that stagewired --listen unix:PATH made");
    return false;
}

static bool say_socket_closed(struct doctor *doctor, enum wire_end end) {
    const char *path = doctor->path;
    int error = doctor->wire.error;
    if (error == ECONNREFUSED) {
        report_wrong(&doctor->report, "socket", EXIT_UNREACHABLE,
                     "%s is stale: the process that made it is gone and nobody listens", path);
        report_mend(&doctor->report, "start stagewired with --listen unix:%s again; it takes the place",
                    path);
    } else if (error == EACCES) {
        report_wrong(&doctor->report, "socket", EXIT_REFUSED, "%s: this user may not write to it", path);
        report_mend(&doctor->report, "run this as the user or in the group that 'ls -l %s' shows", path);
    } else if (end == WIRE_TIMED_OUT || error == EAGAIN) {
        report_wrong(&doctor->report, "socket", EXIT_UNREACHABLE,
                     "%s: somebody listens and takes no connection: it is stopped or stuck", path);
        report_mend(&doctor->report, "see what that process does: 'ss -xlp src %s'", path);
    } else {
        report_wrong(&doctor->report, "socket", EXIT_UNREACHABLE, "%s: %s", path, strerror(error));
    }
    return false;
}

static bool check_socket(struct doctor *doctor) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char took[DOCTOR_DURATION_BYTES];
    if (!is_socket_there(doctor)) return false;
    strncpy(address.sun_path, doctor->path, sizeof address.sun_path - 1);
    int64_t begun = stopwatch_ns();
    enum wire_end end =
        wire_connect(&doctor->wire, (struct sockaddr *)&address, sizeof address, doctor_deadline(doctor));
    if (end != WIRE_OK) return say_socket_closed(doctor, end);
    take_address(doctor, (struct sockaddr *)&address, sizeof address);
    report_ok(&doctor->report, "socket", "%s took the connection in %s", doctor->path,
              doctor_duration(stopwatch_ns() - begun, took));
    return true;
}

bool check_connection(struct doctor *doctor) {
    return doctor->is_unix ? check_socket(doctor) : check_tcp(doctor);
}

enum wire_end doctor_connect_again(struct doctor *doctor, struct wire *wire) {
    return wire_connect(wire, (const struct sockaddr *)&doctor->address, doctor->address_size,
                        doctor_deadline(doctor));
}
