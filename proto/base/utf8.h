/* UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF. NUL is a character like any
 * other. */
#ifndef STAGEWIRE_BASE_UTF8_H
#define STAGEWIRE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the character that `data` starts with, 1 to 4, or 0 where it starts with none. size > 0. */
size_t utf8_character(const char *data, size_t size);

bool utf8_valid(const char *data, size_t size);

/* The longest prefix of at most `room` bytes that does not cut a character. `data` is valid UTF-8. */
size_t utf8_prefix(const char *data, size_t size, size_t room);

#endif
