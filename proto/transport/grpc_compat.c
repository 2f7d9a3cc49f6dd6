#include "proto/transport/grpc_compat.h"

#include <grpc/grpc_security.h>
#include <grpc/support/log.h>

#include "proto/base/log.h"

grpc_channel *grpc_compat_channel(const char *target, const grpc_channel_args *args) {
    grpc_channel_credentials *plaintext = grpc_insecure_credentials_create();
    grpc_channel *channel = grpc_channel_create(target, plaintext, args);
    grpc_channel_credentials_release(plaintext);
    return channel;
}

grpc_channel *grpc_compat_lame_channel(void) {
    return grpc_lame_client_channel_create(NULL, GRPC_STATUS_UNAVAILABLE, "this channel leads nowhere");
}

int grpc_compat_listen(grpc_server *server, const char *address) {
    grpc_server_credentials *plaintext = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server, address, plaintext);
    grpc_server_credentials_release(plaintext);
    return port;
}

/* gRPC calls an error what we may well retry (a refused connection), so nothing of it is louder than a
 * warning. */
static void log_ours(gpr_log_func_args *args) {
    enum log_level level = args->severity == GPR_LOG_SEVERITY_ERROR ? LOG_WARN : LOG_DEBUG;
    if (log_enabled(level)) log_at(level, "grpc", LOG_TEXT("message", args->message));
}

void grpc_compat_log_to_ours(void) {
    gpr_set_log_function(log_ours);
}

const char *grpc_compat_version(void) {
    return grpc_version_string();
}
