#include "proto/transport/tls_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"

static bool given(const char *path) {
    return path && *path;
}

bool tls_files_given(const struct tls_files *files) {
    return given(files->key) || given(files->cert) || given(files->ca) || given(files->crl);
}

static sw_status missing(const char *option, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s is missing: %s", option, why);
}

sw_status tls_files_check(const struct tls_files *files, struct tls_files *ret, sw_error *error) {
    if (!given(files->cert))
        return missing("tls_cert (--tls-cert)",
                       "name the PEM file of the own certificate; both ends show one", error);
    bool is_bundle = !given(files->key) && !given(files->ca);
    if (!given(files->key) && !is_bundle)
        return missing("tls_key (--tls-key)", "name the PEM file of the certificate's private key", error);
    if (!given(files->ca) && !is_bundle)
        return missing("tls_ca (--tls-ca)", "name the PEM file of the CAs that peers are checked against",
                       error);
    *ret = *files;
    if (is_bundle) ret->key = ret->ca = files->cert;
    return SW_OK;
}

/* ---- reading ---- */

static sw_status wrong_file(const char *path, const char *option, const char *why, sw_error *error) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s %s: %s", option, path, why);
}

static const char *advice(int number) {
    return number == EACCES ? "; let the user that runs this process read it" : "";
}

static sw_status cannot_read(const char *path, const char *option, sw_error *error) {
    int number = errno;
    char why[256];
    snprintf(why, sizeof why, "%s%s", strerror(number), advice(number));
    return wrong_file(path, option, why, error);
}

static sw_status check_kind(int fd, const char *path, const char *option, sw_error *error) {
    struct stat state;
    if (fstat(fd, &state) != 0) return cannot_read(path, option, error);
    if (S_ISDIR(state.st_mode)) return wrong_file(path, option, "is a folder; name a PEM file", error);
    if (!S_ISREG(state.st_mode)) return wrong_file(path, option, "is no regular file", error);
    return SW_OK;
}

/* Up to LIMIT_TLS_FILE_BYTES and one more, which is one too many. */
static ssize_t read_all(int fd, char *text) {
    size_t size = 0;
    while (size <= LIMIT_TLS_FILE_BYTES) {
        ssize_t got = read(fd, text + size, LIMIT_TLS_FILE_BYTES + 1 - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static sw_status read_text(int fd, const char *path, const char *option, char *text, sw_error *error) {
    ssize_t size = read_all(fd, text);
    if (size < 0) return cannot_read(path, option, error);
    text[size] = 0;
    if (size == 0) return wrong_file(path, option, "is empty", error);
    if ((size_t)size > LIMIT_TLS_FILE_BYTES) return wrong_file(path, option, "is larger than 1 MiB", error);
    if (strlen(text) != (size_t)size) return wrong_file(path, option, "is no text, so no PEM file", error);
    return SW_OK;
}

sw_status tls_file_read(const char *path, const char *option, char **ret_text, sw_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return cannot_read(path, option, error);
    sw_status status = check_kind(fd, path, option, error);
    char *text = status == SW_OK ? malloc(LIMIT_TLS_FILE_BYTES + 2) : NULL;
    if (status == SW_OK && !text) status = error_no_memory(error);
    if (status == SW_OK) status = read_text(fd, path, option, text, error);
    close(fd);
    if (status == SW_OK)
        *ret_text = text;
    else
        tls_file_free(text);
    return status;
}

void tls_file_free(char *text) {
    if (text) explicit_bzero(text, strlen(text));
    free(text);
}

/* ---- noticing changes ---- */

static void add_number(struct tls_files_state *state, uint64_t number) {
    for (int i = 0; i < 8; i++) state->digest = (state->digest ^ (number >> (8 * i) & 0xff)) * 1099511628211u;
}

static int64_t nanoseconds(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void add_stat(struct tls_files_state *state, const struct stat *file) {
    int64_t changed = nanoseconds(file->st_ctim);
    add_number(state, file->st_dev);
    add_number(state, file->st_ino);
    add_number(state, (uint64_t)file->st_size);
    add_number(state, (uint64_t)nanoseconds(file->st_mtim));
    add_number(state, (uint64_t)changed);
    if (changed > state->newest_ns) state->newest_ns = changed;
}

/* The order in which a folder is read may change, so its entries are summed. */
static void add_folder(struct tls_files_state *state, const char *path) {
    DIR *folder = opendir(path);
    uint64_t sum = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct tls_files_state one = {0};
        struct stat file;
        if (entry->d_name[0] == '.' || fstatat(dirfd(folder), entry->d_name, &file, 0) != 0) continue;
        add_stat(&one, &file);
        sum += one.digest;
        if (one.newest_ns > state->newest_ns) state->newest_ns = one.newest_ns;
    }
    if (folder) closedir(folder);
    add_number(state, sum);
}

static void add_path(struct tls_files_state *state, const char *path) {
    struct stat file;
    if (!given(path)) return;
    if (stat(path, &file) != 0) {
        add_number(state, (uint64_t)errno);
        return;
    }
    add_stat(state, &file);
    if (S_ISDIR(file.st_mode)) add_folder(state, path);
}

struct tls_files_state tls_files_state(const struct tls_files *files) {
    struct tls_files_state ret = {0};
    add_path(&ret, files->key);
    add_path(&ret, files->cert);
    add_path(&ret, files->ca);
    add_path(&ret, files->crl);
    return ret;
}
