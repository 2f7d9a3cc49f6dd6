/* A command without memory ends with EXIT_EXHAUSTED and says so. */
#ifndef STAGEWIRE_CLIENT_CLI_MEMORY_H
#define STAGEWIRE_CLIENT_CLI_MEMORY_H

#include <stddef.h>

/* `memory`, unless it is NULL. */
void *memory_check(void *memory);

/* A copy of bytes that need not end in a NUL, and that does. */
char *memory_text(const char *bytes, size_t size);

#endif
