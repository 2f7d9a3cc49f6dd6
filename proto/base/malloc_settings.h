/* For a main function, once: malloc keeps what gRPC reads into for the next read, where by default it gives
 * it back to the system and pays for the first touch of each page again. Measured on a stream of 1 GiB: four
 * times the rate. The library never does this by itself: malloc belongs to the program that embeds it. */
#ifndef STAGEWIRE_BASE_MALLOC_SETTINGS_H
#define STAGEWIRE_BASE_MALLOC_SETTINGS_H

void malloc_keep_for_streams(void);

#endif
