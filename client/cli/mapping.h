/* Files that are read or written as memory. Where the disk fails, or somebody cuts the file off meanwhile,
 * the system sends SIGBUS instead of an error: then what `mapping_on_failure` was given is said, and the
 * program ends with EXIT_INTERNAL. */
#ifndef STAGEWIRE_CLIENT_CLI_MAPPING_H
#define STAGEWIRE_CLIENT_CLI_MAPPING_H

#include <stddef.h>

#include <stagewire/status.h>

struct mapping {
    void *data;
    size_t size;
};

/* All of a regular file, to read. INVALID_ARGUMENT says what is wrong with the path. */
sw_status mapping_read(const char *path, struct mapping *ret, sw_error *error);

/* `size` bytes, more than 0, of the open file `path` that has them, to write. */
sw_status mapping_write(const char *path, int fd, size_t size, struct mapping *ret, sw_error *error);

void mapping_close(struct mapping *mapping);

/* Before memory of a mapping is touched: `message` is one line, and `clean_up(context)` is called before the
 * end, and may do only what a signal handler may; NULL for nothing. Once a process. */
void mapping_on_failure(const char *message, void (*clean_up)(void *context), void *context);

#endif
