/* What the library knows of buffers beside stagewire/buffer.h. Thread-safe. */
#ifndef STAGEWIRE_BASE_BUFFER_H
#define STAGEWIRE_BASE_BUFFER_H

#include <stagewire/buffer.h>

/* Memory of this process alone, to fill; not cleared. RESOURCE_EXHAUSTED without memory. */
sw_status buffer_create(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error);

/* The context of a buffer that was wrapped with this release function; NULL for any other. */
void *buffer_context(const sw_buffer *buffer, void (*release)(void *context));

#endif
