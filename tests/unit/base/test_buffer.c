#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "proto/base/buffer.h"
#include "tests/support/test.h"

static void count_release(void *context) {
    atomic_fetch_add((atomic_int *)context, 1);
}

Test(buffer, a_wrapped_buffer_is_released_once_with_its_last_reference) {
    static const char data[] = "bytes";
    atomic_int released = 0;
    sw_buffer *buffer;
    cr_assert_eq(sw_buffer_wrap(data, sizeof data, count_release, &released, &buffer, NULL), SW_OK);
    cr_assert_eq(sw_buffer_data(buffer), data);
    cr_assert_eq(sw_buffer_size(buffer), sizeof data);
    cr_assert_eq(sw_buffer_ref(buffer), buffer);
    sw_buffer_unref(buffer);
    cr_assert_eq(released, 0);
    sw_buffer_unref(buffer);
    cr_assert_eq(released, 1);
    sw_buffer_unref(NULL);
}

Test(buffer, a_created_buffer_is_writable_whatever_its_size) {
    static const size_t sizes[] = {0, 1, 63, 64, 65535, 65536, 65537, (16u << 20) - 1, (16u << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sw_buffer *buffer;
        void *data;
        cr_assert_eq(buffer_create(sizes[i], &buffer, &data, NULL), SW_OK);
        memset(data, 0x5a, sizes[i]);
        cr_assert_eq(sw_buffer_data(buffer), data);
        cr_assert_eq(sw_buffer_size(buffer), sizes[i]);
        cr_assert_eq((uintptr_t)data % (sizes[i] >= 65536 ? 4096 : 16), 0);
        sw_buffer_unref(buffer);
    }
}

Test(buffer, without_memory_it_says_so_and_writes_nothing) {
    sw_buffer *buffer = NULL;
    void *data = NULL;
    sw_error error;
    static const size_t sizes[] = {
        SIZE_MAX,
        SIZE_MAX - 64,
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which end the process at such a size  \
                                                                     */
        SIZE_MAX / 2
#endif
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_assert_eq(buffer_create(sizes[i], &buffer, &data, &error), SW_RESOURCE_EXHAUSTED);
        cr_assert_eq(error.reason, SW_REASON_LIMIT);
        cr_assert_str_eq(sw_error_metadata(&error, "limit"), "memory");
        cr_assert_null(buffer);
        cr_assert_null(data);
    }
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *take_and_give_back(void *buffer) {
    for (int i = 0; i < ROUNDS; i++) sw_buffer_unref(sw_buffer_ref(buffer));
    sw_buffer_unref(buffer);
    return NULL;
}

Test(buffer, references_are_counted_across_threads) {
    atomic_int released = 0;
    sw_buffer *buffer;
    pthread_t threads[THREADS];
    cr_assert_eq(sw_buffer_wrap("x", 1, count_release, &released, &buffer, NULL), SW_OK);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, take_and_give_back, sw_buffer_ref(buffer)), 0);
    sw_buffer_unref(buffer);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cr_assert_eq(released, 1);
}
