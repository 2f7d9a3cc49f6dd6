#include "client/cli/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/exit_codes.h"

void *memory_check(void *memory) {
    if (memory) return memory;
    fputs("stagewire: no memory\n", stderr);
    exit(EXIT_EXHAUSTED);
}

char *memory_text(const char *bytes, size_t size) {
    char *text = memory_check(malloc(size + 1));
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}
