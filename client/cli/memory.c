#include "client/cli/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/cli/exit_codes.h"

void *memory_check(void *memory) {
    if (memory) return memory;
    fputs("stagewire: no memory\n", stderr);
    exit(EXIT_EXHAUSTED);
}
