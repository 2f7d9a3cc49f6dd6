#include "client/cli/bench/address.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/cli/messages.h"

enum cli_exit address_find(const char *who, const char *name, struct addrinfo **ret_found) {
    char host[256];
    const char *colon = strrchr(name, ':');
    size_t size = colon ? (size_t)(colon - name) : 0;
    bool is_bracketed = size > 1 && name[0] == '[' && name[size - 1] == ']';
    if (size == 0 || size >= sizeof host || !colon[1])
        return messages_say(who, EXIT_USAGE, "'%s' is no HOST:PORT", name);
    snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? size - 2 : size), name + is_bracketed);
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int result = getaddrinfo(host, colon + 1, &wish, ret_found);
    if (result == 0) return EXIT_OK;
    return messages_say(who, result == EAI_SERVICE ? EXIT_USAGE : EXIT_UNREACHABLE, "%s: %s", name,
                        gai_strerror(result));
}

/* Of a way that does not leave the machine both ends have the same address. Nothing is sent. */
bool address_is_near(const struct addrinfo *address) {
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    int fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool is_known = connect(fd, address->ai_addr, address->ai_addrlen) == 0 &&
                    getsockname(fd, (struct sockaddr *)&own, &size) == 0;
    close(fd);
    if (!is_known) return false;
    if (address->ai_family == AF_INET)
        return ((struct sockaddr_in *)&own)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)address->ai_addr)->sin_addr.s_addr;
    return memcmp(&((struct sockaddr_in6 *)&own)->sin6_addr,
                  &((const struct sockaddr_in6 *)address->ai_addr)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

void address_in_text(const struct sockaddr *address, socklen_t size, char text[ADDRESS_TEXT_MAX]) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
        0)
        snprintf(text, ADDRESS_TEXT_MAX, "an address of a strange kind");
    else
        snprintf(text, ADDRESS_TEXT_MAX, address->sa_family == AF_INET6 ? "[%.45s]:%.6s" : "%.45s:%.6s", host,
                 port);
}
