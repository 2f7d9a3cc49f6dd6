/* Option structs whose first member is their size: they grow at the end, so a program and a library of
 * different ages understand each other. */
#ifndef STAGEWIRE_BASE_SIZED_H
#define STAGEWIRE_BASE_SIZED_H

#include <stddef.h>

#include <stagewire/status.h>

/* Fills a caller's struct of `size` bytes with the first of the `known` bytes of `defaults`, what it has
 * beyond with 0, and notes its size. */
void sized_init(void *options, size_t size, const void *defaults, size_t known);

/* Lays a caller's struct over `known_options`, which holds the defaults of `known` bytes. INVALID_ARGUMENT
 * names `init` where that was never called, and says so where an option is set that this library lacks. */
sw_status sized_read(const void *options, void *known_options, size_t known, const char *init,
                     sw_error *error);

#endif
