#include "service/daemon/resources.h"

#include <sys/resource.h>

#include "proto/base/malloc_settings.h"

void resources_prepare(void) {
    malloc_keep_for_streams();
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max; /* without one, gRPC 1.51 stops to listen for good */
    setrlimit(RLIMIT_NOFILE, &files);
}
