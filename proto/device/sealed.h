/* Sealed memory: a memfd that can be neither written nor resized any more, whoever has it. Only such memory
 * is taken from another process: what was checked stays so, and a mapping never ends before its size.
 * Any thread. */
#ifndef STAGEWIRE_DEVICE_SEALED_H
#define STAGEWIRE_DEVICE_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A memfd of `size` bytes, not yet sealed; -1 where there is none to be had (errno). */
int sealed_create(size_t size);

/* False if somebody may still write to it: a writable shared mapping stands, also of a child that was forked,
 * or a device works on its pages. */
bool sealed_seal(int fd);

/* Whether it is memory, and sealed; *ret_size says how much. What is no memory, or of another kind (a file, a
 * pipe, huge pages, that may not be there when they are touched), is not. */
bool sealed_check(int fd, uint64_t *ret_size);

/* Copies from sealed memory; false where it has no such bytes. */
bool sealed_read(int fd, uint64_t offset, void *out, size_t size);

#endif
