#include "proto/base/buffer.h"
#include "proto/base/limits.h"
#include "proto/device/shared.h"

/* What may be published is memory that another process can take as it is, where there may be one. */
sw_status sw_buffer_create(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error) {
    if (size >= LIMIT_SHARED_FROM && shared_has_takers() && shared_create(size, ret_buffer, ret_data))
        return SW_OK;
    return buffer_create(size, ret_buffer, ret_data, error);
}
