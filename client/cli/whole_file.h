/* A file that is complete or absent: it is written without a name, or under a hidden one where the file
 * system knows no files without, and gets its name when all of it is on the disk. */
#ifndef STAGEWIRE_CLIENT_CLI_WHOLE_FILE_H
#define STAGEWIRE_CLIENT_CLI_WHOLE_FILE_H

#include <limits.h>
#include <stdint.h>

#include <stagewire/status.h>

struct whole_file {
    char path[PATH_MAX], folder[PATH_MAX];
    char hidden[PATH_MAX]; /* the name that it has meanwhile; "" for none */
    int fd;
};

/* Room for `size` bytes is taken at once, so that a full disk shows here. A file of that name is replaced at
 * the end; what is no regular file is refused. Errors say what is wrong with the path: INVALID_ARGUMENT,
 * PERMISSION_DENIED, RESOURCE_EXHAUSTED without room. */
sw_status whole_file_open(const char *path, uint64_t size, struct whole_file *ret, sw_error *error);

/* On the disk, under its name. With an error there is no file, or the one that there was. Closes it either
 * way. */
sw_status whole_file_commit(struct whole_file *file, sw_error *error);

/* As if it had never been. Only calls that a signal handler may make. */
void whole_file_abandon(struct whole_file *file);

#endif
