/* What differs between versions of gRPC core: here, and nowhere else. */
#ifndef STAGEWIRE_TRANSPORT_GRPC_COMPAT_H
#define STAGEWIRE_TRANSPORT_GRPC_COMPAT_H

#include <grpc/grpc.h>

/* A plaintext channel to `target` ("HOST:PORT" or "unix:PATH"); never NULL. */
grpc_channel *grpc_compat_channel(const char *target, const grpc_channel_args *args);

/* A channel whose calls fail at once; never NULL. */
grpc_channel *grpc_compat_lame_channel(void);

/* Binds a plaintext listener; 0 if it cannot be bound, 1 for a Unix socket, else the port. */
int grpc_compat_listen(grpc_server *server, const char *address);

/* What gRPC has to say goes to our own log. Once a process; again is fine. */
void grpc_compat_log_to_ours(void);

/* The plain text of gRPC's version. */
const char *grpc_compat_version(void);

#endif
