#include "service/rpc/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "service/rpc/unix_socket.h"

#define UNIX_PREFIX "unix:"

/* ---- parsing ---- */

static sw_status no_address(const char *text, sw_error *error) {
    return error_set_code(
        error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
        "listen '%s': no address to listen on; write HOST:PORT, for instance 127.0.0.1:0, or unix:PATH",
        text);
}

struct host_port {
    char host[256]; /* without brackets */
    char port[8];
};

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == 0 && atoi(text) <= 65535;
}

static bool split(const char *text, struct host_port *ret) {
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !is_port(colon + 1)) return false;
    const char *begin = text, *end = colon;
    if (*begin == '[' && end[-1] == ']') {
        begin++, end--;
    } else if (memchr(begin, ':', (size_t)(end - begin))) {
        return false;
    }
    if (end == begin || (size_t)(end - begin) >= sizeof ret->host) return false;
    memcpy(ret->host, begin, (size_t)(end - begin));
    ret->host[end - begin] = 0;
    strcpy(ret->port, colon + 1);
    return true;
}

static sw_status resolve(const char *text, const struct host_port *at, struct addrinfo **ret,
                         sw_error *error) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int failed = getaddrinfo(at->host, at->port, &hints, ret);
    if (failed == 0) return SW_OK;
    return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "listen '%s': host %s: %s", text, at->host,
                          gai_strerror(failed));
}

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    }
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static enum listener_class class_of(const struct addrinfo *addresses) {
    for (const struct addrinfo *at = addresses; at; at = at->ai_next) {
        if (!is_loopback(at->ai_addr)) return LISTENER_OTHER;
    }
    return LISTENER_LOOPBACK;
}

static sw_status parse_tcp(const char *text, bool anywhere, struct listener *ret, sw_error *error) {
    struct host_port at;
    struct addrinfo *addresses;
    if (!split(text, &at)) return no_address(text, error);
    sw_status status = resolve(text, &at, &addresses, error);
    if (status != SW_OK) return status;
    ret->class = class_of(addresses);
    freeaddrinfo(addresses);
    if (ret->class == LISTENER_LOOPBACK || anywhere) return SW_OK;
    return error_set_code(
        error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
        "listen '%s': reaches beyond this machine in plaintext, for everyone to read and pull; give it "
        "certificates (--tls-cert, --tls-key, --tls-ca), listen on 127.0.0.1 or unix:PATH, or allow it with "
        "insecure_plaintext (--insecure-plaintext)",
        text);
}

sw_status listener_parse(const char *text, bool anywhere, struct listener *ret, sw_error *error) {
    *ret = (struct listener){.lock = -1};
    if (!text || strlen(text) >= sizeof ret->name) return no_address(text ? text : "", error);
    strcpy(ret->name, text);
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) != 0) {
        return parse_tcp(text, anywhere, ret, error);
    }
    ret->class = LISTENER_UNIX;
    ret->path = ret->name + strlen(UNIX_PREFIX);
    return unix_socket_check_path(ret->path, error);
}

sw_status listener_parse_for_probes(const char *text, struct listener *ret, sw_error *error) {
    sw_status status = listener_parse(text, true, ret, error);
    if (status != SW_OK) return status;
    if (ret->class == LISTENER_UNIX) {
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "health_listen '%s': every Unix socket of --listen serves health already; write "
            "HOST:PORT, for instance 0.0.0.0:9090",
            text);
    }
    ret->class = LISTENER_HEALTH;
    return SW_OK;
}

/* ---- binding ---- */

/* gRPC does not tell why it could not bind, so that is found by trying. */
static const char *why_not(const struct listener *listener) {
    struct host_port at;
    struct addrinfo *addresses;
    if (!split(listener->name, &at) || resolve(listener->name, &at, &addresses, NULL) != SW_OK)
        return "unknown host";
    int why = 0;
    for (const struct addrinfo *address = addresses; address && why == 0; address = address->ai_next) {
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, 1) != 0) why = errno;
        close(fd);
    }
    freeaddrinfo(addresses);
    return why ? strerror(why) : "it was not possible a moment ago; try again";
}

static sw_status bind_tcp(struct listener *listener, grpc_server *server, sw_error *error) {
    int port = grpc_compat_listen(server, listener->name, &listener->tls);
    if (port == 0) {
        return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "cannot listen on %s: %s",
                              listener->name, why_not(listener));
    }
    snprintf(strrchr(listener->name, ':') + 1, sizeof "65535", "%d", port);
    listener->bound = true;
    return SW_OK;
}

static sw_status bind_unix(struct listener *listener, grpc_server *server, sw_error *error) {
    int lock;
    sw_status status = unix_socket_claim(listener->path, &lock, error);
    if (status != SW_OK) return status;
    if (!unix_socket_bind(server, listener->name, listener->path)) {
        status = error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE,
                                "cannot listen on %s: is its folder there, and writable?", listener->name);
        unix_socket_release(listener->path, lock);
        return status;
    }
    listener->lock = lock;
    listener->bound = true;
    return SW_OK;
}

sw_status listener_bind(struct listener *listener, grpc_server *server, struct tls_source *tls,
                        sw_error *error) {
    if (listener->class == LISTENER_UNIX) return bind_unix(listener, server, error);
    listener->tls = (struct grpc_compat_tls){.source = listener->class == LISTENER_HEALTH ? NULL : tls};
    return bind_tcp(listener, server, error);
}

void listener_close(struct listener *listener) {
    if (listener->bound && listener->class == LISTENER_UNIX)
        unix_socket_release(listener->path, listener->lock);
    listener->bound = false;
}
