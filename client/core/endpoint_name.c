#include "client/core/endpoint_name.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"

#define UNIX_PREFIX   "unix:"
#define UNIX_PATH_MAX 107 /* what sockaddr_un takes */
#define PORT_MAX      65535

static sw_status bad(const char *name, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "the endpoint \"%.*s\" %s; write HOST:PORT or unix:PATH", 200, name, why);
}

static sw_status unix_target(const char *name, char *ret_target, size_t size, sw_error *error) {
    const char *path = name + strlen(UNIX_PREFIX);
    if (!path[0]) return bad(name, "has no path", error);
    if (strlen(path) > UNIX_PATH_MAX) return bad(name, "has a path of more than 107 bytes", error);
    snprintf(ret_target, size, "%s", name);
    return SW_OK;
}

bool endpoint_name_is_unix(const char *name) {
    return strncmp(name, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0;
}

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits]) return false;
    unsigned port = 0;
    for (; *text; text++) port = port * 10 + (unsigned)(*text - '0');
    return port >= 1 && port <= PORT_MAX;
}

/* An IPv6 address stands in brackets, so that its colons are told from the port's. */
static bool is_host(const char *host, size_t size) {
    if (size == 0 || memchr(host, '/', size)) return false;
    bool bracketed = host[0] == '[';
    if (bracketed) return size > 2 && host[size - 1] == ']';
    return !memchr(host, ':', size) && !memchr(host, ']', size);
}

sw_status endpoint_name_target(const char *name, char *ret_target, size_t size, sw_error *error) {
    if (!name || !name[0]) return bad("", "is empty", error);
    if (endpoint_name_is_unix(name)) return unix_target(name, ret_target, size, error);
    if (strlen(name) > ENDPOINT_NAME_MAX - sizeof "dns:///") return bad(name, "is too long", error);
    const char *colon = strrchr(name, ':');
    if (!colon) return bad(name, "has no port", error);
    if (!is_port(colon + 1)) return bad(name, "has no port from 1 to 65535", error);
    if (!is_host(name, (size_t)(colon - name))) return bad(name, "has no host", error);
    snprintf(ret_target, size, "dns:///%s", name);
    return SW_OK;
}
