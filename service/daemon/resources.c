#include "service/daemon/resources.h"

#include <malloc.h>
#include <sys/resource.h>

/* Above what gRPC reads at once, below most tensors: those go back to the system when they go. */
#define MMAP_FROM_BYTES (4 << 20)
#define TRIM_FROM_BYTES (64 << 20)
#define TOP_PAD_BYTES   (4 << 20)

void resources_prepare(void) {
    mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_FROM_BYTES);
    mallopt(M_TOP_PAD, TOP_PAD_BYTES);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max; /* without one, gRPC 1.51 stops to listen for good */
    setrlimit(RLIMIT_NOFILE, &files);
}
