#include "proto/base/buffer.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "proto/base/error.h"
#include "proto/base/pages.h"

/* Above this, bytes lie on pages of their own, so that they can be handed to a kernel or a device. */
#define PAGED_FROM (64u << 10)
struct sw_buffer {
    _Atomic size_t references;
    const void *data;
    size_t size;
    void (*release)(void *context);
    void *context;
    _Alignas(64) unsigned char inlined[];
};

static sw_buffer *make(size_t inlined, const void *data, size_t size, void (*release)(void *),
                       void *context) {
    if (inlined > SIZE_MAX - sizeof(sw_buffer) - _Alignof(sw_buffer)) return NULL;
    size_t bytes = (sizeof(sw_buffer) + inlined + _Alignof(sw_buffer) - 1) & ~(_Alignof(sw_buffer) - 1);
    sw_buffer *buffer = aligned_alloc(_Alignof(sw_buffer), bytes);
    if (!buffer) return NULL;
    atomic_init(&buffer->references, 1);
    buffer->data = data ? data : buffer->inlined;
    buffer->size = size;
    buffer->release = release;
    buffer->context = context;
    return buffer;
}

sw_status sw_buffer_wrap(const void *data, size_t size, void (*release)(void *context), void *context,
                         sw_buffer **ret_buffer, sw_error *error) {
    sw_buffer *buffer = make(0, data, size, release, context);
    if (!buffer) return error_no_memory(error);
    *ret_buffer = buffer;
    return SW_OK;
}

static void put_pages(void *context) {
    sw_buffer *buffer = context;
    pages_put((void *)buffer->data, buffer->size);
}

static sw_status create_paged(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error) {
    void *pages = pages_get(size);
    if (!pages) return error_no_memory(error);
    sw_buffer *buffer = make(0, pages, size, put_pages, NULL);
    if (!buffer) {
        pages_put(pages, size);
        return error_no_memory(error);
    }
    buffer->context = buffer;
    *ret_buffer = buffer;
    *ret_data = pages;
    return SW_OK;
}

sw_status buffer_create(size_t size, sw_buffer **ret_buffer, void **ret_data, sw_error *error) {
    if (size >= PAGED_FROM) return create_paged(size, ret_buffer, ret_data, error);
    sw_buffer *buffer = make(size, NULL, size, NULL, NULL);
    if (!buffer) return error_no_memory(error);
    *ret_buffer = buffer;
    *ret_data = buffer->inlined;
    return SW_OK;
}

sw_buffer *sw_buffer_ref(sw_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void sw_buffer_unref(sw_buffer *buffer) {
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1) return;
    if (buffer->release) buffer->release(buffer->context);
    free(buffer);
}

const void *sw_buffer_data(const sw_buffer *buffer) {
    return buffer->data;
}

size_t sw_buffer_size(const sw_buffer *buffer) {
    return buffer->size;
}

void *buffer_context(const sw_buffer *buffer, void (*release)(void *context)) {
    return buffer->release == release ? buffer->context : NULL;
}
