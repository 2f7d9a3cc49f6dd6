#include "service/rpc/peer_address.h"

#include <stdbool.h>
#include <string.h>

static bool skip(const char **at, const char *prefix) {
    size_t size = strlen(prefix);
    if (strncmp(*at, prefix, size) != 0) return false;
    *at += size;
    return true;
}

/* The first `size` bytes, or as many as there is room for. */
static void take(const char *text, size_t size, char ret[PEER_ADDRESS_MAX]) {
    if (size >= PEER_ADDRESS_MAX) size = PEER_ADDRESS_MAX - 1;
    memcpy(ret, text, size);
    ret[size] = 0;
}

static size_t until(const char *text, const char *end) {
    const char *found = strstr(text, end);
    return found ? (size_t)(found - text) : strlen(text);
}

void peer_address_of(const char *peer, char ret[PEER_ADDRESS_MAX]) {
    const char *at = peer;
    if (skip(&at, "ipv6:%5B")) {
        take(at, until(at, "%5D"), ret);
    } else if (skip(&at, "ipv6:[")) {
        take(at, until(at, "]"), ret);
    } else {
        skip(&at, "ipv4:");
        take(at, until(at, ":"), ret);
    }
}
