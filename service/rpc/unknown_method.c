#include "service/rpc/unknown_method.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "service/rpc/call.h"
#include "service/rpc/server.h"
#include "service/rpc/services.h"

#define NAMES_MAX 256

/* "a, b, c" */
static const char *served_names(const struct server *server, char *names) {
    size_t used = 0;
    for (const struct service *service = services; service < services + SERVICE_COUNT; service++) {
        if (!service_is_served(service, server)) continue;
        used += (size_t)snprintf(names + used, NAMES_MAX - used, "%s%s", used > 0 ? ", " : "", service->name);
    }
    return names;
}

static bool asks_for_reflection(const struct server *server, const char *path, size_t size) {
    static const char prefix[] = "/grpc.reflection.";
    return !server->reflects && !server->for_probes && size >= sizeof prefix - 1 &&
           memcmp(path, prefix, sizeof prefix - 1) == 0;
}

static void refuse(struct call *call, const void *request, size_t request_size) {
    (void)request, (void)request_size;
    const char *path = (const char *)GRPC_SLICE_START_PTR(call->details.method);
    size_t size = GRPC_SLICE_LENGTH(call->details.method);
    char names[NAMES_MAX];
    sw_error error;
    error_set_code(&error, SW_UNIMPLEMENTED, SW_REASON_NONE, "no method %.*s here; served are %s%s",
                   (int)size, path, served_names(call->server, names),
                   asks_for_reflection(call->server, path, size)
                       ? "; reflection is served beyond this machine with --reflection only"
                       : "");
    call_fail(call, &error);
}

/* It counts as reading so that nobody waits for a request message. */
static void drop(struct call *call, grpc_byte_buffer *message) {
    (void)call, (void)message;
}

const struct method unknown_method = {
    .path = "an unknown method", .reads = true, .begin = refuse, .received = drop};
