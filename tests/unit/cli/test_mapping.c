#include "client/cli/mapping.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static char path[64];
static struct mapping mapping;
static sw_error error;

static void make_file(size_t size) {
    strcpy(path, "/tmp/stagewire-mapping-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_eq(ftruncate(fd, (off_t)size), 0);
    cr_assert_eq(pwrite(fd, "abc", size < 3 ? size : 3, 0), (ssize_t)(size < 3 ? size : 3));
    close(fd);
}

Test(mapping, a_file_is_read_as_memory) {
    make_file(3);
    cr_assert_eq(mapping_read(path, &mapping, &error), SW_OK);
    cr_assert_eq(mapping.size, 3);
    cr_assert_eq(memcmp(mapping.data, "abc", 3), 0);
    mapping_close(&mapping);
    unlink(path);
}

Test(mapping, what_cannot_be_read_is_named) {
    make_file(0);
    cr_assert_eq(mapping_read(path, &mapping, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, path) && strstr(error.message, "is empty"));
    unlink(path);
    cr_assert_eq(mapping_read(path, &mapping, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "No such file"));
    cr_assert_eq(mapping_read("/tmp", &mapping, &error), SW_INVALID_ARGUMENT);
    cr_assert(strstr(error.message, "is no regular file"));
}

static void clean_up(void *context) {
    unlink(context);
    _exit(37);
}

/* 37: clean_up was called, where SIGBUS alone would have killed it. */
Test(mapping, a_file_that_is_cut_off_meanwhile_ends_the_program_in_order, .exit_code = 37) {
    make_file(100000);
    cr_assert_eq(mapping_read(path, &mapping, &error), SW_OK);
    mapping_on_failure("the file was cut off", clean_up, path);
    cr_assert_eq(truncate(path, 10), 0);
    volatile const char *beyond = (const char *)mapping.data + 50000;
    cr_assert_eq(*beyond, 0);
}
