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
    bool has_group;
    sw_item_kind kind;
    int64_t timeout_ms;
    int64_t grace_ms; /* how long an endpoint may be gone; 0: the client's default */
    bool json;
    unsigned connections; /* of sw_client_options; 0: its default */
    /* of sw_client_options; from the environment where no option says otherwise, else NULL */
    const char *tls_key, *tls_cert, *tls_ca, *tls_crl, *peer_identity;
};

/* Children of a command's argp: hand them `struct options` as their input. */
extern const struct argp options_common;     /* --timeout, --json, --tls-*, --peer-identity */
extern const struct argp options_endpoint;   /* ENDPOINT as the only argument, and options_common */
extern const struct argp options_place;      /* --run, --stage, --group */
extern const struct argp options_only;       /* the same, as a filter of what there is */
extern const struct argp options_generation; /* --generation */
extern const struct argp options_kind;       /* --kind */
extern const struct argp options_address;    /* --run, --stage, --group, --generation, --call */

/* argp_parse, which for an option that doesn't exist also names the one that was probably meant. Ends the
 * program with EXIT_USAGE where something is wrong. */
void options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The word that must be a number of `option`; ends the program with EXIT_USAGE if it isn't. */
uint64_t options_number(struct argp_state *state, const char *option, const char *word, uint64_t max);

/* STEP, or "latest"; ends the program with EXIT_USAGE if it is neither. */
void options_step(struct argp_state *state, const char *word, uint64_t *ret_step, bool *ret_latest);

/* What the client that they name is opened with. */
void options_of_client(const struct options *options, sw_client_options *ret_client);

/* Opens the client that `options` name; says what is wrong with the endpoint and returns its exit code. */
enum cli_exit options_connect(const struct options *options, sw_client **ret_client);

#endif
