#include "client/cli/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"

#define TRIES 100

static sw_status code_of(int why) {
    switch (why) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
        return SW_RESOURCE_EXHAUSTED;
    case EACCES:
    case EPERM:
    case EROFS:
        return SW_PERMISSION_DENIED;
    case EIO:
        return SW_DATA_LOSS;
    default:
        return SW_INVALID_ARGUMENT;
    }
}

static sw_status failed(sw_error *error, const char *path, int why) {
    return error_set_code(error, code_of(why), SW_REASON_NONE, "%s: %s", path, strerror(why));
}

/* ---- the path ---- */

/* A link stays, and what it leads to is replaced. */
static sw_status resolve(struct whole_file *file, const char *path, sw_error *error) {
    struct stat info;
    if (lstat(path, &info) == 0) {
        if (!realpath(path, file->path)) return failed(error, path, errno);
        if (stat(file->path, &info) != 0) return failed(error, path, errno);
        if (S_ISDIR(info.st_mode)) return failed(error, path, EISDIR);
        if (!S_ISREG(info.st_mode))
            return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                                  "%s: is no regular file, and only such a one can be replaced", path);
        return SW_OK;
    }
    if (errno != ENOENT) return failed(error, path, errno);
    size_t size = strlen(path);
    if (size == 0 || path[size - 1] == '/') return failed(error, path, size ? EISDIR : ENOENT);
    if (size >= sizeof file->path) return failed(error, path, ENAMETOOLONG);
    memcpy(file->path, path, size + 1);
    return SW_OK;
}

static void find_folder(struct whole_file *file) {
    char path[PATH_MAX];
    memcpy(path, file->path, sizeof path);
    snprintf(file->folder, sizeof file->folder, "%s", dirname(path));
}

static bool make_hidden_name(struct whole_file *file) {
    char path[PATH_MAX];
    uint64_t number;
    memcpy(path, file->path, sizeof path);
    if (getrandom(&number, sizeof number, 0) != sizeof number) return false;
    int size = snprintf(file->hidden, sizeof file->hidden, "%s/.%.200s.%016" PRIx64, file->folder,
                        basename(path), number);
    return size > 0 && (size_t)size < sizeof file->hidden;
}

/* ---- opening ---- */

static int open_hidden(struct whole_file *file) {
    for (int i = 0; i < TRIES; i++) {
        if (!make_hidden_name(file)) break;
        int fd = open(file->hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    errno = ENAMETOOLONG;
    return -1;
}

/* Not every file system, and no kernel without /proc, can give a file its name later. */
static int open_nameless(struct whole_file *file) {
    file->hidden[0] = 0;
    if (access("/proc/self/fd", X_OK) != 0) return open_hidden(file);
    int fd = open(file->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) return open_hidden(file);
    return fd;
}

static int reserve(int fd, uint64_t size) {
    int why;
    do why = posix_fallocate(fd, 0, (off_t)size);
    while (why == EINTR);
    return why;
}

sw_status whole_file_open(const char *path, uint64_t size, struct whole_file *ret, sw_error *error) {
    struct whole_file *file = ret;
    sw_status status = resolve(file, path, error);
    if (status != SW_OK) return status;
    find_folder(file);
    file->fd = open_nameless(file);
    if (file->fd < 0) return failed(error, file->folder, errno);
    int why = reserve(file->fd, size);
    if (why == 0) return SW_OK;
    whole_file_abandon(file);
    return error_set_code(error, code_of(why), SW_REASON_NONE, "%s: no room for %" PRIu64 " bytes: %s", path,
                          size, strerror(why));
}

/* ---- the end ---- */

/* A name of its own at once if the path is free; else a hidden one that then takes the place of the other. */
static int name_it(struct whole_file *file) {
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0) return 0;
    for (int i = 0; errno == EEXIST && i < TRIES; i++) {
        if (!make_hidden_name(file)) break;
        if (linkat(AT_FDCWD, self, AT_FDCWD, file->hidden, AT_SYMLINK_FOLLOW) == 0) return 0;
    }
    int why = errno;
    file->hidden[0] = 0;
    return why;
}

/* So that the name survives a power failure, too. Where that is not to be had the file may then be absent. */
static void sync_folder(const struct whole_file *file) {
    int fd = open(file->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

sw_status whole_file_commit(struct whole_file *file, sw_error *error) {
    int why = fsync(file->fd) == 0 ? 0 : errno;
    if (why == 0 && !file->hidden[0]) why = name_it(file);
    if (why == 0 && file->hidden[0]) {
        why = rename(file->hidden, file->path) == 0 ? 0 : errno;
        if (why == 0) file->hidden[0] = 0;
    }
    if (why == 0) sync_folder(file);
    sw_status status = why ? failed(error, file->path, why) : SW_OK;
    whole_file_abandon(file);
    return status;
}

void whole_file_abandon(struct whole_file *file) {
    if (file->hidden[0]) unlink(file->hidden);
    close(file->fd);
}
