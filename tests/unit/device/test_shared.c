/* Buffers whose bytes another process can have as they are. */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/device/sealed.h"
#include "proto/device/shared.h"
#include "tests/support/test.h"

#define SIZE (LIMIT_SHARED_FROM + 12345)

static sw_buffer *fill(unsigned char **ret_data) {
    sw_buffer *buffer;
    void *data;
    cr_assert_eq(sw_buffer_create(SIZE, &buffer, &data, NULL), SW_OK);
    memset(data, 0x5a, SIZE);
    if (ret_data) *ret_data = data;
    return buffer;
}

static void wait_until_all_is_given_back(void) {
    while (shared_count() > 0) sched_yield();
}

static void somebody_comes(void) {
    shared_taker_came();
}
TestSuite(shared, .init = somebody_comes, .timeout = 60);

Test(shared, while_nobody_could_take_it_memory_is_of_this_process_alone) {
    shared_taker_left();
    sw_buffer *buffer = fill(NULL);
    cr_assert_not(shared_seal(buffer));
    cr_assert_eq(shared_count(), 0);
    sw_buffer_unref(buffer);
    shared_taker_came();
}

Test(shared, memory_of_the_library_is_sealed_where_it_lies) {
    unsigned char *data;
    sw_buffer *buffer = fill(&data);
    int fd;
    uint64_t offset, size;
    cr_assert_not(shared_memory_of(buffer, &fd, &offset), "nobody has it yet");
    cr_assert(shared_seal(buffer));
    cr_assert(shared_memory_of(buffer, &fd, &offset));
    cr_assert(sealed_check(fd, &size));
    cr_assert_eq(size, SIZE);
    cr_assert_eq(offset, 0);
    cr_assert_eq(sw_buffer_data(buffer), data);
    for (size_t i = 0; i < SIZE; i += 1000) cr_assert_eq(data[i], 0x5a);
    cr_assert(shared_seal(buffer), "again is fine");
    sw_buffer_unref(buffer);
}

Test(shared, sealed_memory_is_mapped_from_any_byte_on_and_outlives_its_descriptor) {
    unsigned char *data;
    sw_buffer *buffer = fill(&data), *other;
    int fd;
    uint64_t offset;
    data[5000] = 1;
    cr_assert(shared_seal(buffer) && shared_memory_of(buffer, &fd, &offset));
    cr_assert(shared_open(fd, 5000, SIZE - 5000, false, &other));
    sw_buffer_unref(buffer);
    const unsigned char *bytes = sw_buffer_data(other);
    cr_assert_eq(sw_buffer_size(other), SIZE - 5000);
    cr_assert_eq(bytes[0], 1);
    cr_assert_eq(bytes[SIZE - 5001], 0x5a);
    cr_assert(shared_memory_of(other, &fd, &offset), "it can be handed on");
    cr_assert_eq(offset, 5000);
    sw_buffer_unref(other);
    wait_until_all_is_given_back();
}

Test(shared, who_may_write_to_mapped_memory_is_alone_with_what_was_written) {
    sw_buffer *buffer = fill(NULL), *other;
    int fd;
    uint64_t offset;
    cr_assert(shared_seal(buffer) && shared_memory_of(buffer, &fd, &offset));
    cr_assert(shared_open(fd, 0, SIZE, true, &other));
    unsigned char *bytes = (unsigned char *)sw_buffer_data(other);
    bytes[7] = 1;
    cr_assert_eq(((const unsigned char *)sw_buffer_data(buffer))[7], 0x5a);
    cr_assert(shared_seal(other));
    cr_assert_not(shared_memory_of(other, &fd, &offset), "it is not handed on");
    cr_assert_eq(bytes[7], 1);
    sw_buffer_unref(other);
    sw_buffer_unref(buffer);
    wait_until_all_is_given_back();
}

/* Its pages are the parent's too, and it may write to them until it has let go. */
Test(shared, what_a_forked_child_may_write_to_is_not_sealed) {
    sw_buffer *buffer = fill(NULL);
    int fd, ends[2];
    uint64_t offset;
    char byte;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) < 0);
    }
    cr_assert_not(shared_seal(buffer));
    cr_assert_not(shared_memory_of(buffer, &fd, &offset));
    close(ends[1]);
    close(ends[0]);
    waitpid(child, NULL, 0);
    cr_assert(shared_seal(buffer), "nobody else has it any more");
    sw_buffer_unref(buffer);
}

Test(shared, small_memory_and_that_of_others_is_not_shared) {
    sw_buffer *small, *others;
    void *data;
    static const char bytes[] = "others";
    cr_assert_eq(sw_buffer_create(LIMIT_SHARED_FROM - 1, &small, &data, NULL), SW_OK);
    cr_assert_eq(sw_buffer_wrap(bytes, sizeof bytes, NULL, NULL, &others, NULL), SW_OK);
    cr_assert_not(shared_seal(small));
    cr_assert_not(shared_seal(others));
    cr_assert_eq(shared_count(), 0);
    sw_buffer_unref(small);
    sw_buffer_unref(others);
}

Test(shared, beyond_its_share_of_descriptors_a_process_has_memory_of_its_own) {
    struct rlimit usual, few;
    static sw_buffer *buffers[11];
    void *data;
    getrlimit(RLIMIT_NOFILE, &usual);
    few = (struct rlimit){40, usual.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    cr_assert_eq(shared_most(), 10);
    for (unsigned i = 0; i <= 10; i++)
        cr_assert_eq(sw_buffer_create(LIMIT_SHARED_FROM, &buffers[i], &data, NULL), SW_OK);
    cr_assert_eq(shared_count(), 10);
    cr_assert(shared_seal(buffers[0]));
    cr_assert_not(shared_seal(buffers[10]));
    memset(data, 1, LIMIT_SHARED_FROM);
    for (unsigned i = 0; i <= 10; i++) sw_buffer_unref(buffers[i]);
    wait_until_all_is_given_back();
    setrlimit(RLIMIT_NOFILE, &usual);
}
