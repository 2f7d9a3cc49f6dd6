#include <stdint.h>
#include <string.h>

#include "proto/device/device.h"
#include "tests/support/test.h"

Test(host, it_gives_memory_that_can_be_written_and_copied) {
    static const size_t sizes[] = {0, 1, 65536, 1u << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sw_buffer *buffer, *copy;
        void *data, *to;
        cr_assert_eq(device_host.allocate(sizes[i], &buffer, &data, NULL), SW_OK);
        cr_assert_eq(device_host.allocate(sizes[i], &copy, &to, NULL), SW_OK);
        memset(data, 0x5a, sizes[i]);
        cr_assert_eq(device_host.copy_to_host(to, sw_buffer_data(buffer), sizes[i], NULL), SW_OK);
        cr_assert_eq(memcmp(to, data, sizes[i]), 0);
        cr_assert_eq(sw_buffer_size(buffer), sizes[i]);
        if (sizes[i] >= 65536) cr_assert_eq((uintptr_t)data % 4096, 0, "on pages of its own");
        sw_buffer_unref(buffer);
        sw_buffer_unref(copy);
    }
}

Test(host, without_memory_it_says_so) {
    sw_buffer *buffer = NULL;
    void *data = NULL;
    sw_error error;
    cr_assert_eq(device_host.allocate(SIZE_MAX, &buffer, &data, &error), SW_RESOURCE_EXHAUSTED);
    cr_assert_str_eq(sw_error_metadata(&error, "limit"), "memory");
    cr_assert_null(buffer);
}

Test(host, it_has_a_name) {
    cr_assert_str_eq(device_host.name, "host");
}
