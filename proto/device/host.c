#include <string.h>

#include "proto/base/buffer.h"
#include "proto/device/device.h"

static sw_status host_allocate(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error) {
    return buffer_create(size, ret_buffer, ret_data, error);
}

static sw_status host_copy(void *host, const void *device, size_t size, sw_error *error) {
    (void)error;
    if (size > 0) memcpy(host, device, size);
    return SW_OK;
}

const struct device_ops device_host = {"host", host_allocate, host_copy};
