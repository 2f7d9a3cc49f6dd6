/* Words of a command line as numbers. Each returns false and leaves its output alone where the word is none.
 */
#ifndef STAGEWIRE_CLIENT_CLI_PARSE_H
#define STAGEWIRE_CLIENT_CLI_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only, up to `max`. */
bool parse_number(const char *word, uint64_t max, uint64_t *ret_number);

/* "500ms", "30s", "10m", "2h": more than 0, and at most PARSE_DURATION_MAX_MS. */
#define PARSE_DURATION_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)
bool parse_duration_ms(const char *word, int64_t *ret_ms);

#endif
