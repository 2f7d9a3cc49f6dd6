/* What may be taken from another process as memory, and what not. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/device/sealed.h"
#include "tests/support/test.h"

static void refuse(int fd) {
    uint64_t size;
    cr_assert_geq(fd, 0);
    cr_assert_not(sealed_check(fd, &size));
    close(fd);
}

Test(sealed, memory_that_was_sealed_can_be_read_and_never_written_or_resized) {
    uint64_t size;
    char read[5];
    int fd = sealed_create(10000);
    cr_assert_eq(pwrite(fd, "there", 5, 9000), 5);
    cr_assert(sealed_seal(fd));
    cr_assert(sealed_check(fd, &size));
    cr_assert_eq(size, 10000);
    cr_assert(sealed_read(fd, 9000, read, 5));
    cr_assert_eq(memcmp(read, "there", 5), 0);
    cr_assert_eq(pwrite(fd, "x", 1, 0), -1);
    cr_assert_eq(ftruncate(fd, 9999), -1);
    cr_assert_eq(ftruncate(fd, 10001), -1);
    cr_assert_eq(mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    close(fd);
}

Test(sealed, memory_is_not_sealed_while_somebody_may_write_to_it) {
    uint64_t size;
    int fd = sealed_create(4096);
    void *writable = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_not(sealed_seal(fd));
    cr_assert_not(sealed_check(fd, &size));
    munmap(writable, 4096);
    cr_assert(sealed_seal(fd));
    close(fd);
}

Test(sealed, what_is_not_sealed_against_all_of_it_is_refused) {
    static const int seals[] = {0,
                                F_SEAL_WRITE,
                                F_SEAL_SHRINK | F_SEAL_GROW,
                                F_SEAL_WRITE | F_SEAL_GROW,
                                F_SEAL_WRITE | F_SEAL_SHRINK,
                                F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW};
    for (size_t i = 0; i < sizeof seals / sizeof *seals; i++) {
        int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
        refuse(fd);
    }
    refuse(memfd_create("test", MFD_CLOEXEC));
}

Test(sealed, what_is_no_memory_is_refused) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    refuse(ends[0]);
    refuse(ends[1]);
    refuse(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    refuse(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    refuse(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    uint64_t size;
    cr_assert_not(sealed_check(-1, &size));
}

/* Where none are set aside for them a touch of huge pages ends the process that touches them. */
Test(sealed, huge_pages_are_refused) {
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (fd < 0) return;
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    refuse(fd);
}

Test(sealed, bytes_beyond_the_end_are_not_there) {
    char read[2];
    int fd = sealed_create(1);
    cr_assert(sealed_read(fd, 0, read, 1));
    cr_assert_not(sealed_read(fd, 0, read, 2));
    cr_assert_not(sealed_read(fd, UINT64_MAX, read, 1));
    close(fd);
}
