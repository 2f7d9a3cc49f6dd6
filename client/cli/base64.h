/* Base64 of RFC 4648, with padding. */
#ifndef STAGEWIRE_CLIENT_CLI_BASE64_H
#define STAGEWIRE_CLIENT_CLI_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void base64_write(FILE *out, const void *data, size_t size);

/* Writes at most size / 4 * 3 bytes to `data`. False where `text` is no whole base64. */
bool base64_read(const char *text, size_t size, void *data, size_t *ret_size);

#endif
