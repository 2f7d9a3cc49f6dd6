#include "proto/device/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

/* Since Linux 6.3, where an administrator may ask for it; before, the flag is unknown. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

int sealed_create(size_t size) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("stagewire", flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("stagewire", flags);
    if (fd < 0) return -1;
    if (ftruncate(fd, (off_t)size) == 0) return fd;
    close(fd);
    return -1;
}

bool sealed_seal(int fd) {
    return fcntl(fd, F_ADD_SEALS, SEALS) == 0;
}

bool sealed_check(int fd, uint64_t *ret_size) {
    struct stat stat;
    struct statfs system;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) return false;
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) return false;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS) return false;
    *ret_size = (uint64_t)stat.st_size;
    return true;
}

bool sealed_read(int fd, uint64_t offset, void *out, size_t size) {
    uint8_t *at = out;
    while (size > 0) {
        ssize_t got = pread(fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}
