/* Copies into a place that is part of something larger. */
#ifndef STAGEWIRE_BASE_COPY_H
#define STAGEWIRE_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>

/* memcpy, to a place within a whole of `whole` bytes. A whole that caches don't hold is written past them:
 * else each of its lines would be read from memory before it is overwritten, and what others have in the
 * caches would make way for what nobody reads soon. Measured on 64 MiB, from 512 KiB that are hot: 17 GB/s
 * instead of 8. */
void copy_into(void *to, const void *from, size_t size, uint64_t whole);

#endif
