#include "service/rpc/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/transport/grpc_compat.h"

#define PATH_MAX_BYTES (sizeof((struct sockaddr_un *)0)->sun_path - 1)

sw_status unix_socket_check_path(const char *path, sw_error *error) {
    if (*path == 0) {
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "listen 'unix:': the path is missing; write unix:PATH, for instance unix:/run/stagewire.sock");
    }
    if (strpbrk(path, "%?#")) {
        return error_set_code(
            error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
            "listen 'unix:%s': a path with %%, ? or # means another one to gRPC; choose one without", path);
    }
    if (strlen(path) <= PATH_MAX_BYTES) return SW_OK;
    return error_set_code(
        error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
        "listen 'unix:%s': the path has %zu bytes and a socket's may have %zu; choose a shorter one", path,
        strlen(path), PATH_MAX_BYTES);
}

static sw_status fail(const char *path, const char *what, sw_error *error) {
    return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "cannot listen on unix:%s: %s: %s", path,
                          what, strerror(errno));
}

static void name_lock(const char *path, char *ret, size_t size) {
    snprintf(ret, size, "%s.lock", path);
}

/* Whoever ended before us removed the file that we have open: then it locks nothing. */
static bool still_there(int lock, const char *name) {
    struct stat opened, named;
    return fstat(lock, &opened) == 0 && stat(name, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static sw_status take_lock(const char *path, int *ret_lock, sw_error *error) {
    char name[PATH_MAX_BYTES + sizeof ".lock"];
    name_lock(path, name, sizeof name);
    for (;;) {
        int lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (lock < 0) return fail(path, name, error);
        if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
            sw_status status =
                errno == EWOULDBLOCK
                    ? error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE,
                                     "cannot listen on unix:%s: another endpoint serves there (it holds %s)",
                                     path, name)
                    : fail(path, name, error);
            close(lock);
            return status;
        }
        if (still_there(lock, name)) {
            *ret_lock = lock;
            return SW_OK;
        }
        close(lock);
    }
}

/* Someone who does not know of our lock may serve there: gRPC would steal the path in silence. */
static bool somebody_answers(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool answers =
        fd >= 0 && (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN);
    if (fd >= 0) close(fd);
    return answers;
}

static sw_status remove_dead(const char *path, sw_error *error) {
    struct stat there;
    if (lstat(path, &there) != 0) return errno == ENOENT ? SW_OK : fail(path, "its path", error);
    if (!S_ISSOCK(there.st_mode)) {
        return error_set_code(
            error, SW_UNAVAILABLE, SW_REASON_NONE,
            "cannot listen on unix:%s: a file that is no socket is there; remove it or choose another path",
            path);
    }
    if (somebody_answers(path)) {
        return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE,
                              "cannot listen on unix:%s: another process serves there", path);
    }
    return unlink(path) == 0 ? SW_OK : fail(path, "the dead socket that is there", error);
}

static void drop_lock(const char *path, int lock) {
    char name[PATH_MAX_BYTES + sizeof ".lock"];
    name_lock(path, name, sizeof name);
    unlink(name);
    close(lock);
}

sw_status unix_socket_claim(const char *path, int *ret_lock, sw_error *error) {
    int lock;
    sw_status status = take_lock(path, &lock, error);
    if (status != SW_OK) return status;
    status = remove_dead(path, error);
    if (status != SW_OK) {
        drop_lock(path, lock);
        return status;
    }
    *ret_lock = lock;
    return SW_OK;
}

bool unix_socket_bind(grpc_server *server, const char *name, const char *path) {
    struct grpc_compat_tls plaintext = {0};
    mode_t before = umask(0007); /* never open to others, not even for a moment */
    bool bound = grpc_compat_listen(server, name, &plaintext) != 0;
    umask(before);
    return bound && chmod(path, 0660) == 0;
}

void unix_socket_release(const char *path, int lock) {
    unlink(path);
    drop_lock(path, lock);
}
