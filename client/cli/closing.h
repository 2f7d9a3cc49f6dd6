/* What 'stagewire close' and 'stagewire abort' have in common. */
#ifndef STAGEWIRE_CLIENT_CLI_CLOSING_H
#define STAGEWIRE_CLIENT_CLI_CLOSING_H

#include "client/cli/options.h"

struct closing {
    struct options options;
    bool all;
    const char *message; /* NULL: none */
};

/* ENDPOINT and CHANNEL or --all; child of a command's argp, which gives it its `struct closing`. */
extern const struct argp closing_argp;

enum cli_exit closing_run(const struct closing *closing, sw_close_reason reason);

#endif
