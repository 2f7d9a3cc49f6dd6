/* Large memory, on pages of its own. The first touch of a page costs more than copying what goes there, so
 * pages that were given back are kept for the next of about that size, as a step of training is followed by
 * one like it. Those kept are at most LIMIT_KEPT_PAGES, and with those in use never more than were in use at
 * once before.
 * Thread-safe. */
#ifndef STAGEWIRE_BASE_PAGES_H
#define STAGEWIRE_BASE_PAGES_H

#include <stddef.h>

/* At least `size` bytes, page-aligned, not cleared; NULL without memory. */
void *pages_get(size_t size);
void pages_put(void *pages, size_t size); /* the size that it was got with */

size_t pages_kept(void); /* bytes that wait for the next */

#endif
