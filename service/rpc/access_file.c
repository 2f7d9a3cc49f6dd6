#include "service/rpc/access_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/list.h"
#include "proto/base/log.h"

#define LOOK_MS 1000

/* ---- reading ---- */

static sw_status unreadable(const char *path, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "the access table %s: %s", path, why);
}

static sw_status read_all(int fd, const char *path, char *data, size_t size, sw_error *error) {
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return unreadable(path, got < 0 ? strerror(errno) : "became shorter meanwhile", error);
        done += (size_t)got;
    }
    return SW_OK;
}

static sw_status parse_open(int fd, const char *path, const struct stat *stat, struct access_table **ret,
                            sw_error *error) {
    if (!S_ISREG(stat->st_mode)) return unreadable(path, "no plain file", error);
    if (stat->st_size > ACCESS_BYTES_MAX) return unreadable(path, "larger than 1 MiB", error);
    size_t size = (size_t)stat->st_size;
    char *data = malloc(size + 1);
    if (!data) return error_no_memory(error);
    sw_status status = read_all(fd, path, data, size, error);
    if (status == SW_OK) status = access_parse(path, data, size, ret, error);
    free(data);
    return status;
}

/* Not waiting for a pipe's other end. */
static sw_status load(const char *path, struct access_table **ret, struct stat *ret_stat, sw_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return unreadable(path, strerror(errno), error);
    sw_status status = fstat(fd, ret_stat) == 0 ? parse_open(fd, path, ret_stat, ret, error)
                                                : unreadable(path, strerror(errno), error);
    close(fd);
    return status;
}

/* ---- looking ---- */

static bool same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void take(struct access_file *file) {
    struct access_table *table;
    struct stat stat = file->seen;
    sw_error error;
    sw_status status = load(file->path, &table, &stat, &error);
    file->taken = file->seen;
    if (status != SW_OK) {
        if (strcmp(file->problem, error.message) == 0) return;
        strcpy(file->problem, error.message);
        log_error("the access table is wrong; the one before stays in force",
                  LOG_TEXT("message", file->problem));
        return;
    }
    access_free(file->table);
    file->table = table;
    file->problem[0] = 0;
    log_info("the access table was taken", LOG_TEXT("file", file->path));
}

/* A file that can't be found is as one of no size: that is told by take. */
static void look(struct loop_timer *timer) {
    struct access_file *file = container_of(timer, struct access_file, look);
    struct stat now;
    memset(&now, 0, sizeof now);
    if (stat(file->path, &now) != 0) memset(&now, 0, sizeof now);
    bool settled = same(&now, &file->seen);
    file->seen = now;
    if (settled && !same(&now, &file->taken)) take(file);
    loop_timer_set(file->loop, timer, loop_now_ms(file->loop) + LOOK_MS);
}

sw_status access_file_open(struct access_file *file, const char *path, sw_error *error) {
    *file = (struct access_file){.look.run = look};
    if (!path || !*path) return SW_OK;
    file->path = strdup(path);
    if (!file->path) return error_no_memory(error);
    sw_status status = load(path, &file->table, &file->taken, error);
    file->seen = file->taken;
    if (status != SW_OK) access_file_close(file);
    return status;
}

void access_file_start(struct access_file *file, struct loop *loop) {
    file->loop = loop;
    if (file->path) loop_timer_set(loop, &file->look, loop_now_ms(loop) + LOOK_MS);
}

void access_file_stop(struct access_file *file) {
    if (file->loop) loop_timer_clear(file->loop, &file->look);
}

void access_file_close(struct access_file *file) {
    access_free(file->table);
    free(file->path);
    file->table = NULL;
    file->path = NULL;
}
