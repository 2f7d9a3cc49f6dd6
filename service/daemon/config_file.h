/* The file of --config: lines of KEY = VALUE, # begins a comment. */
#ifndef STAGEWIRE_DAEMON_CONFIG_FILE_H
#define STAGEWIRE_DAEMON_CONFIG_FILE_H

#include "service/daemon/config.h"

/* INVALID_ARGUMENT names the file and the line. */
sw_status config_file_read(struct config *config, const char *path, sw_error *error);

#endif
