/* A Unix socket in the file system that is ours alone: a lock file beside it keeps others from taking it
 * over, the socket of a process that died is replaced, and both are removed at the end. Any thread. */
#ifndef STAGEWIRE_SERVICE_UNIX_SOCKET_H
#define STAGEWIRE_SERVICE_UNIX_SOCKET_H

#include <stdbool.h>

#include <grpc/grpc.h>

#include <stagewire/status.h>

/* INVALID_ARGUMENT for a path that no socket can have. */
sw_status unix_socket_check_path(const char *path, sw_error *error);

/* Takes the lock PATH.lock and removes a dead socket. UNAVAILABLE where another process serves there, and
 * where the file is no socket. */
sw_status unix_socket_claim(const char *path, int *ret_lock, sw_error *error);

/* Binds `name` (unix:PATH) for owner and group only. */
bool unix_socket_bind(grpc_server *server, const char *name, const char *path);

/* Removes socket and lock. */
void unix_socket_release(const char *path, int lock);

#endif
