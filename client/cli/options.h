/* What the subcommands' options have in common. */
#ifndef STAGEWIRE_CLIENT_CLI_OPTIONS_H
#define STAGEWIRE_CLIENT_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <stagewire/client.h>

#include "client/cli/exit_codes.h"

#define OPTIONS_TIMEOUT_MS 30000

struct options {
    const char *who; /* "stagewire get", for messages */
    const char *endpoint;
    sw_address address;
    int64_t timeout_ms;
    bool json;
};

/* Children of a command's argp: hand them `struct options` as their input. */
extern const struct argp options_common;  /* --timeout, --json */
extern const struct argp options_address; /* --run, --generation, --stage, --group, --call */

/* argp_parse, which for an option that doesn't exist also names the one that was probably meant. Ends the
 * program with EXIT_USAGE where something is wrong. */
void options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The word that must be a number of `option`; ends the program with EXIT_USAGE if it isn't. */
uint64_t options_number(struct argp_state *state, const char *option, const char *word, uint64_t max);

/* Opens the client that `options` name; says what is wrong with the endpoint and returns its exit code. */
enum cli_exit options_connect(const struct options *options, sw_client **ret_client);

#endif
