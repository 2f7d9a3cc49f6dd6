/* What stagewired is told: by flag, else by environment, else by file, else the default. One table says all
 * of it (config_table.c). */
#ifndef STAGEWIRE_DAEMON_CONFIG_H
#define STAGEWIRE_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include <stagewire/endpoint.h>

#include "proto/base/log.h"

#define LISTEN_MAX 16

struct config {
    sw_endpoint_options endpoint;
    const char *listen[LISTEN_MAX]; /* what endpoint.listen points to */
    uint32_t max_connections, max_connections_address;
    const char *port_file; /* "": none */
    const char *file;      /* "": none */
    enum log_format log_format;
    enum log_level log_level;
    bool print_config, version, help;

    struct config_strings *strings; /* owns all text that is not argv's or the environment's */
    struct setting *settings;       /* where each value came from; a row of the table each */
};

/* INVALID_ARGUMENT with a message that names flag, variable, or file and line. `environment` as environ.
 * Afterwards config_free, in any case. */
sw_status config_load(struct config *config, int argc, char **argv, char **environment, sw_error *error);
void config_free(struct config *config);

void config_print(const struct config *config, FILE *out); /* as a file that --config reads */
void config_help(FILE *out);

#endif
