/* Addresses, as a listener and as a client take them: a client can name what a listener listens on. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/endpoint_name.h"
#include "service/rpc/listener.h"
#include "tests/fuzz/common/fuzz.h"

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret);

/* No name is looked up in a network. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **ret) {
    struct addrinfo numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST;
    return __real_getaddrinfo(host, port, &numeric, ret);
}

/* Port 0, which a listener replaces by the bound one. */
static bool any_port(const char *text) {
    const char *colon = strrchr(text, ':');
    return colon && colon[1 + strspn(colon + 1, "0")] == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_string(data, size), target[ENDPOINT_NAME_MAX];
    struct listener listener;
    sw_error error = {0};
    sw_status named = endpoint_name_target(text, target, sizeof target, &error);
    if (named == SW_OK)
        HOLDS(strstr(target, text) && strlen(target) < ENDPOINT_NAME_MAX);
    else
        HOLDS(named == SW_INVALID_ARGUMENT && error.message[0]);
    error = (sw_error){0};
    sw_status listening = listener_parse(text, true, &listener, &error);
    if (listening != SW_OK)
        HOLDS((listening == SW_INVALID_ARGUMENT || listening == SW_UNAVAILABLE) && error.message[0]);
    if (listening == SW_OK && !any_port(text)) HOLDS(named == SW_OK);
    free(text);
    return 0;
}
