/* The word that was probably meant. */
#ifndef STAGEWIRE_CLIENT_CLI_NEAREST_H
#define STAGEWIRE_CLIENT_CLI_NEAREST_H

#include <stddef.h>

/* The candidate with the fewest letters changed, added, left out or swapped, at most 2 and fewer than it has;
 * NULL if none is that near. Candidates that are NULL are passed over. */
const char *nearest(const char *word, const char *const *candidates, size_t count);

#endif
