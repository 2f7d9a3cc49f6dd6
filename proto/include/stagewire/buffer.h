/* Buffers: immutable, reference-counted memory that carries its own release function. Thread-safe. */
#ifndef STAGEWIRE_BUFFER_H
#define STAGEWIRE_BUFFER_H

#include <stddef.h>

#include <stagewire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_buffer sw_buffer;

/* Wraps the caller's memory: `release(context)` runs once, on any thread, when the last reference goes. The
 * caller must not change the bytes until then. RESOURCE_EXHAUSTED without memory; then release does not run.
 */
SW_API sw_status sw_buffer_wrap(const void *data, size_t size, void (*release)(void *context), void *context,
                                sw_buffer **ret_buffer, sw_error *error);

/* Memory of the library to fill: *ret_data is writable until the buffer is published or sent. Not cleared.
 * RESOURCE_EXHAUSTED without memory.
 *
 * From 1 MiB on it is, in a process that has an endpoint on a Unix socket or a client of one, and while a
 * quarter of its descriptors suffices (one each, 4,096 at most), memory that can be handed to another process
 * as it is: an endpoint that is published to over its Unix
 * socket takes it without a copy, and so does a client that pulls from an endpoint over one. Being handed
 * over makes it read-only where it lies, for good: a write then ends the process. A child that is forked
 * before shares it, and while there is one the bytes are sent instead. */
SW_API sw_status sw_buffer_create(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error);

SW_API sw_buffer *sw_buffer_ref(sw_buffer *buffer);
SW_API void sw_buffer_unref(sw_buffer *buffer); /* takes NULL */

SW_API const void *sw_buffer_data(const sw_buffer *buffer);
SW_API size_t sw_buffer_size(const sw_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
