/* Where tensor bytes live: a small table of operations a kind of memory. The host is always there. */
#ifndef STAGEWIRE_DEVICE_H
#define STAGEWIRE_DEVICE_H

#include <stddef.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

struct device_ops {
    const char *name; /* "host" */
    /* New memory of `size` bytes that becomes a buffer; writable through *ret_data until it is published.
     * Page-aligned from 64 KiB on. RESOURCE_EXHAUSTED without memory. */
    sw_status (*allocate)(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error);
    /* Copies `size` bytes of this device's memory to the host. */
    sw_status (*copy_to_host)(void *host, const void *device, size_t size, sw_error *error);
};

extern const struct device_ops device_host;

#endif
