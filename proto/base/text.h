/* Text that is written into memory of a fixed size. What does not fit is left out whole, and `full` then
 * stays set. Always NUL-terminated. What is written is valid UTF-8: bytes that are not become U+FFFD. */
#ifndef STAGEWIRE_BASE_TEXT_H
#define STAGEWIRE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data;
    size_t size, room; /* room: without the NUL */
    bool full;
};

/* `size` bytes at `data`, from 1. */
void text_init(struct text *text, char *data, size_t size);

void text_put(struct text *text, const char *string);
void text_put_number(struct text *text, int64_t number);
void text_put_unsigned(struct text *text, uint64_t number);

/* As much as fits, cut at a character; a cut ends in "…". NUL becomes U+FFFD. */
void text_put_clean(struct text *text, const char *data, size_t size);

/* A JSON string with its quotes, of at most `most` bytes of `data` (a cut ends in "…"). */
void text_put_json(struct text *text, const char *data, size_t size, size_t most);

/* Takes back what was written since `size` had this value, also that it did not fit. */
void text_back_to(struct text *text, size_t size);

#endif
