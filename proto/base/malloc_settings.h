/* For a main function, once: malloc keeps what gRPC reads into for the next read, where by default it gives
 * it back to the system and pays for the first touch of each page again. Measured on a stream of 1 GiB: four
 * times the rate. The library never does this by itself: malloc belongs to the program that embeds it. */
#ifndef STAGEWIRE_BASE_MALLOC_SETTINGS_H
#define STAGEWIRE_BASE_MALLOC_SETTINGS_H

void malloc_keep_for_streams(void);

/* For the library: frees 8 MiB that were never touched. As a program frees, glibc believes, so it will need:
 * it keeps twice as much for the next from then on (M_MMAP_THRESHOLD in mallopt(3)), unless the program has
 * set that itself. Any program that frees a tensor of its own tells it as much; one that never did paid for
 * each page of each read. Any thread. */
void malloc_hint_for_streams(void);

#endif
