/* Numbers, sizes and durations as people write them. Strict: no sign, no blanks, no rest, nothing that
 * overflows. */
#ifndef STAGEWIRE_DAEMON_UNITS_H
#define STAGEWIRE_DAEMON_UNITS_H

#include <stdbool.h>
#include <stdint.h>

bool parse_number(const char *text, uint64_t most, uint64_t *ret);

/* Bytes: "65536", "512k", "512m", "2g", "1t"; k is 1024. */
bool parse_bytes(const char *text, uint64_t *ret);

/* Milliseconds: "500ms", "30s", "10m", "1h". The unit is needed, but for 0. */
bool parse_milliseconds(const char *text, int64_t *ret);

#endif
