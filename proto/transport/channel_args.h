/* Settings of channels and servers: measured to matter, or needed for safety. Both sides start from here. */
#ifndef STAGEWIRE_TRANSPORT_CHANNEL_ARGS_H
#define STAGEWIRE_TRANSPORT_CHANNEL_ARGS_H

#include <stdint.h>

#include <grpc/grpc.h>

#define CHANNEL_ARGS_MAX 32

/* Flags of every message that is sent: tensors don't shrink, and metrics are small. */
#define MESSAGE_FLAGS GRPC_WRITE_NO_COMPRESS

/* Points into itself: fill it where it stays, don't copy it. */
struct channel_args {
    grpc_channel_args list; /* what gRPC takes */
    grpc_arg args[CHANNEL_ARGS_MAX];
};

/* What a server allows its connections. */
struct channel_limits {
    int64_t handshake_ms;
    int64_t age_ms, idle_ms; /* 0: no limit */
    int64_t age_grace_ms;
    uint32_t streams;
    uint64_t header_bytes;
    grpc_resource_quota *quota; /* outlives the args */
};

void channel_args_server(struct channel_args *ret, const struct channel_limits *limits);
void channel_args_client(struct channel_args *ret);

/* Adds one; `key` must be a literal. */
void channel_args_add(struct channel_args *args, const char *key, int value);

#endif
