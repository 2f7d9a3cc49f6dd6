#include "client/cli/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/exit_codes.h"
#include "proto/base/error.h"

static struct {
    char message[512];
    size_t size;
    void (*clean_up)(void *context);
    void *context;
} failure;

static void end(int number) {
    (void)number;
    if (write(STDERR_FILENO, failure.message, failure.size) < 0) _exit(EXIT_INTERNAL);
    if (failure.clean_up) failure.clean_up(failure.context);
    _exit(EXIT_INTERNAL);
}

void mapping_on_failure(const char *message, void (*clean_up)(void *context), void *context) {
    int size =
        snprintf(failure.message, sizeof failure.message, "%.*s\n", (int)sizeof failure.message - 2, message);
    failure.size = (size_t)size;
    failure.clean_up = clean_up;
    failure.context = context;
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGBUS, &action, NULL);
}

static sw_status wrong(sw_error *error, const char *path, const char *what) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: %s", path, what);
}

static sw_status map(int fd, size_t size, int protection, int flags, const char *path, struct mapping *ret,
                     sw_error *error) {
    void *data = mmap(NULL, size, protection, flags, fd, 0);
    if (data == MAP_FAILED)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                              "%s: cannot be mapped into memory: %s", path, strerror(errno));
    *ret = (struct mapping){data, size};
    return SW_OK;
}

sw_status mapping_read(const char *path, struct mapping *ret, sw_error *error) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wrong(error, path, strerror(errno));
    sw_status status;
    if (fstat(fd, &info) != 0)
        status = wrong(error, path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = wrong(error, path, "is no regular file");
    else if (info.st_size == 0)
        status = wrong(error, path, "is empty");
    else if ((uint64_t)info.st_size > SIZE_MAX)
        status = wrong(error, path, "is larger than this machine's memory can map");
    else
        status = map(fd, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, path, ret, error);
    close(fd);
    return status;
}

sw_status mapping_write(const char *path, int fd, size_t size, struct mapping *ret, sw_error *error) {
    return map(fd, size, PROT_READ | PROT_WRITE, MAP_SHARED, path, ret, error);
}

void mapping_close(struct mapping *mapping) {
    munmap(mapping->data, mapping->size);
}
