/* The file of --port-file: what the daemon listens on, a line each, in the order given. */
#ifndef STAGEWIRE_DAEMON_PORT_FILE_H
#define STAGEWIRE_DAEMON_PORT_FILE_H

#include <stagewire/endpoint.h>

/* Written beside and renamed, so that nobody reads half of it. UNAVAILABLE where that fails. */
sw_status port_file_write(const char *path, const sw_endpoint *endpoint, sw_error *error);

/* Nobody listens there (any more). Fine if it isn't there. */
void port_file_remove(const char *path);

#endif
