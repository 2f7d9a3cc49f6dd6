/* Buffers whose bytes another process can have without a copy. There are two kinds: memory to fill, which is
 * writable until it is handed over, and memory that another process handed over. Any thread. */
#ifndef STAGEWIRE_DEVICE_SHARED_H
#define STAGEWIRE_DEVICE_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/buffer.h>

/* Memory to fill; false where there is none of this kind: the machine's, or there are
 * shared_most already. */
bool shared_create(size_t size, sw_buffer **ret_buffer, void **ret_data);

/* Maps sealed memory, `size` bytes from `offset` on, which it has. The descriptor stays the caller's. With
 * `writable` its holders may write: they see it, nobody else does, and it is not handed on. False
 * as above. */
bool shared_open(int fd, uint64_t offset, size_t size, bool writable, sw_buffer **ret_buffer);

/* Makes a buffer ready to be handed over: from then on nobody writes to it. False for one of another kind,
 * and where somebody may still write to it (sealed_seal). */
bool shared_seal(sw_buffer *buffer);

/* Of a buffer that is sealed: the memory, and where in it the bytes begin. False for any other. The
 * descriptor is the buffer's. */
bool shared_memory_of(const sw_buffer *buffer, int *ret_fd, uint64_t *ret_offset);

/* Whom this process may hand memory to, or be asked by: its own endpoints beside a Unix socket, and clients
 * of such. While there is none, memory to fill is better its own, whose pages are used again. */
void shared_taker_came(void);
void shared_taker_left(void);
bool shared_has_takers(void);

/* How many there are in this process, and may be. */
unsigned shared_count(void);
unsigned shared_most(void);

#endif
