#include "service/daemon/port_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/error.h"

static bool write_lines(const char *path, const sw_endpoint *endpoint) {
    FILE *file = fopen(path, "we");
    if (!file) return false;
    const char *address;
    for (uint32_t i = 0; (address = sw_endpoint_address(endpoint, i)); i++) fprintf(file, "%s\n", address);
    bool failed = ferror(file);
    return fclose(file) == 0 && !failed;
}

sw_status port_file_write(const char *path, const sw_endpoint *endpoint, sw_error *error) {
    char beside[PATH_MAX];
    int size = snprintf(beside, sizeof beside, "%s.%d", path, (int)getpid());
    bool fits = size > 0 && (size_t)size < sizeof beside;
    if (fits && write_lines(beside, endpoint) && rename(beside, path) == 0) return SW_OK;
    int why = fits ? errno : ENAMETOOLONG;
    if (fits) unlink(beside);
    return error_set_code(error, SW_UNAVAILABLE, SW_REASON_NONE, "--port-file %s: %s", path, strerror(why));
}

void port_file_remove(const char *path) {
    unlink(path);
}
