/* Settings of channels and servers: measured to matter, or needed for safety. Both sides start from here. */
#ifndef STAGEWIRE_TRANSPORT_CHANNEL_ARGS_H
#define STAGEWIRE_TRANSPORT_CHANNEL_ARGS_H

#include <grpc/grpc.h>

#define CHANNEL_ARGS_MAX 24

/* Flags of every message that is sent: tensors don't shrink, and metrics are small. */
#define MESSAGE_FLAGS GRPC_WRITE_NO_COMPRESS

/* Points into itself: fill it where it stays, don't copy it. */
struct channel_args {
    grpc_channel_args list; /* what gRPC takes */
    grpc_arg args[CHANNEL_ARGS_MAX];
};

void channel_args_server(struct channel_args *ret);
void channel_args_client(struct channel_args *ret);

/* Adds one; `key` must be a literal. */
void channel_args_add(struct channel_args *args, const char *key, int value);

#endif
