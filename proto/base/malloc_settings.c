#include "proto/base/malloc_settings.h"

#include <malloc.h>
#include <stdlib.h>

/* Above what gRPC reads at once, below most tensors: those go back to the system when they go. */
#define MMAP_FROM_BYTES (4 << 20)
#define TRIM_FROM_BYTES (64 << 20)
#define TOP_PAD_BYTES   (4 << 20)

/* About what a pull has under way. */
#define HINT_BYTES (8 << 20)

void malloc_keep_for_streams(void) {
    mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_FROM_BYTES);
    mallopt(M_TOP_PAD, TOP_PAD_BYTES);
}

void malloc_hint_for_streams(void) {
    void *volatile seen = malloc(HINT_BYTES); /* else compilers leave both out */
    free(seen);
}
