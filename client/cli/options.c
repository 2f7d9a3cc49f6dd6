#include "client/cli/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/messages.h"
#include "client/cli/option_list.h"
#include "client/cli/parse.h"
#include "proto/base/error.h"

static void end_if_unknown(const struct argp *argp, int argc, char **argv, bool stops) {
    struct option_list list;
    const char *unknown, *meant;
    option_list_of(argp, &list);
    if (!option_list_find_unknown(&list, argc, argv, stops, &unknown, &meant)) return;
    if (meant)
        messages_say(argv[0], EXIT_USAGE, "there is no option '%s'; did you mean '%s'?", unknown, meant);
    else
        messages_say(argv[0], EXIT_USAGE, "there is no option '%s'; '%s --help' lists them", unknown,
                     argv[0]);
    exit(EXIT_USAGE);
}

/* Each option's row shows already that its short form takes an argument, too. */
static char *without_note(int key, const char *text, void *input) {
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

void options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input) {
    end_if_unknown(argp, argc, argv, flags & ARGP_IN_ORDER);
    struct argp brief = *argp;
    if (!brief.help_filter) brief.help_filter = without_note;
    argp_parse(&brief, argc, argv, flags, NULL, input);
}

uint64_t options_number(struct argp_state *state, const char *option, const char *word, uint64_t max) {
    uint64_t number = 0;
    if (!parse_number(word, max, &number))
        argp_error(state, "%s '%s': must be an integer from 0 to %" PRIu64, option, word, max);
    return number;
}

void options_step(struct argp_state *state, const char *word, uint64_t *ret_step, bool *ret_latest) {
    *ret_latest = strcmp(word, "latest") == 0;
    if (!*ret_latest && !parse_number(word, SW_STEP_MAX, ret_step))
        argp_error(state, "STEP '%s': must be an integer from 0 to %" PRIu64 ", or 'latest'", word,
                   (uint64_t)SW_STEP_MAX);
}

/* ---- certificates ---- */

enum { KEY_TLS_FIRST = 0x200 }; /* no letters: they are long, and seldom typed */

static const struct tls_option {
    const char *variable;
    size_t field;
} tls_options[] = {
    {"STAGEWIRE_TLS_CERT", offsetof(struct options, tls_cert)},
    {"STAGEWIRE_TLS_KEY", offsetof(struct options, tls_key)},
    {"STAGEWIRE_TLS_CA", offsetof(struct options, tls_ca)},
    {"STAGEWIRE_TLS_CRL", offsetof(struct options, tls_crl)},
    {"STAGEWIRE_PEER_IDENTITY", offsetof(struct options, peer_identity)},
};

#define TLS_OPTIONS (sizeof tls_options / sizeof *tls_options)

static const char **tls_field(struct options *options, size_t index) {
    return (const char **)((char *)options + tls_options[index].field);
}

static void read_environment(struct options *options) {
    for (size_t i = 0; i < TLS_OPTIONS; i++) *tls_field(options, i) = getenv(tls_options[i].variable);
}

/* ---- the rest ---- */

static error_t parse_common(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    if (key >= KEY_TLS_FIRST && key < KEY_TLS_FIRST + (int)TLS_OPTIONS) {
        *tls_field(options, (size_t)(key - KEY_TLS_FIRST)) = word;
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        read_environment(options);
        return 0;
    case 't':
        if (!parse_duration_ms(word, &options->timeout_ms))
            argp_error(state, "--timeout '%s': must be a number and a unit (ms, s, m, h), as in 500ms or 30s",
                       word);
        return 0;
    case 'j':
        options->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_place(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    sw_address *address = &options->address;
    switch (key) {
    case 'r':
        address->run_id = word;
        return 0;
    case 's':
        address->stage = (uint32_t)options_number(state, "--stage", word, UINT32_MAX);
        address->has_stage = true;
        return 0;
    case 'G':
        address->group = (uint32_t)options_number(state, "--group", word, UINT32_MAX);
        options->has_group = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_generation(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    if (key != 'g') return ARGP_ERR_UNKNOWN;
    options->address.generation = options_number(state, "--generation", word, UINT64_MAX);
    return 0;
}

static error_t parse_kind(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    if (key != 'k') return ARGP_ERR_UNKNOWN;
    for (sw_item_kind kind = SW_METRICS; kind <= SW_OBJECT; kind++) {
        if (strcmp(item_kind_name(kind), word) != 0) continue;
        options->kind = kind;
        return 0;
    }
    argp_error(state, "--kind '%s': must be metrics, tensors or object", word);
    return 0;
}

static error_t parse_address(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        state->child_inputs[1] = options;
        return 0;
    case 'c':
        options->address.call = (uint32_t)options_number(state, "--call", word, UINT32_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_endpoint(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "'%s' is one argument too many", word);
        options->endpoint = word;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "ENDPOINT is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common[] = {
    {"timeout", 't', "DURATION", 0, "Give up after that long, as in 500ms, 30s, 10m (30s)", 0},
    {"json", 'j', NULL, 0,
     "Print JSON, one object a line; NaN and infinities as \"NaN\", \"Infinity\", \"-Infinity\"", 0},
    {"tls-cert", KEY_TLS_FIRST, "FILE", 0,
     "Speak TLS and show this certificate (PEM, up to its CA); alone, the file has key and CAs too "
     "(STAGEWIRE_TLS_CERT)",
     0},
    {"tls-key", KEY_TLS_FIRST + 1, "FILE", 0, "Its private key (STAGEWIRE_TLS_KEY)", 0},
    {"tls-ca", KEY_TLS_FIRST + 2, "FILE", 0,
     "The CAs that the endpoint is checked against (STAGEWIRE_TLS_CA)", 0},
    {"tls-crl", KEY_TLS_FIRST + 3, "PATH", 0,
     "Revocation lists, a file or a folder of files (STAGEWIRE_TLS_CRL)", 0},
    {"peer-identity", KEY_TLS_FIRST + 4, "NAME", 0,
     "Whose the endpoint's certificate must be, as spiffe://TRUST-DOMAIN/PATH or a DNS name (the host in "
     "ENDPOINT; STAGEWIRE_PEER_IDENTITY)",
     0},
    {0},
};

static const struct argp_option place[] = {
    {"run", 'r', "ID", 0, "The run that the endpoint must serve (any)", 0},
    {"stage", 's', "N", 0, "Whose value (the only stage with that channel, else the endpoint's own)", 0},
    {"group", 'G', "N", 0, "The pipeline group (0)", 0},
    {0},
};

static const struct argp_option only[] = {
    {"run", 'r', "ID", 0, "The run that the endpoint must serve (any)", 0},
    {"stage", 's', "N", 0, "That stage (every stage)", 0},
    {"group", 'G', "N", 0, "That pipeline group (every group)", 0},
    {0},
};

static const struct argp_option generation[] = {
    {"generation", 'g', "N", 0, "The job's generation, from 1 (the current one)", 0},
    {0},
};

static const struct argp_option kind_of_channel[] = {
    {"kind", 'k', "metrics|tensors|object", 0,
     "Of the channels of that name the one for metrics, tensors or object (metrics)", 0},
    {0},
};

static const struct argp_option call[] = {
    {"call", 'c', "N", 0, "The n-th publication within the step, from 0 (0)", 0},
    {0},
};

const struct argp options_common = {.options = common, .parser = parse_common};
const struct argp options_endpoint = {
    .parser = parse_endpoint,
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0}, {0}},
};
const struct argp options_place = {.options = place, .parser = parse_place};
const struct argp options_only = {.options = only, .parser = parse_place};
const struct argp options_generation = {.options = generation, .parser = parse_generation};
const struct argp options_kind = {.options = kind_of_channel, .parser = parse_kind};
const struct argp options_address = {
    .options = call,
    .parser = parse_address,
    .children =
        (const struct argp_child[]){{&options_place, 0, NULL, 0}, {&options_generation, 0, NULL, 0}, {0}},
};

void options_of_client(const struct options *options, sw_client_options *ret_client) {
    sw_client_options_init(ret_client);
    ret_client->run_id = options->address.run_id;
    ret_client->timeout_ms = options->timeout_ms;
    if (options->grace_ms) ret_client->endpoint_grace_ms = options->grace_ms;
    ret_client->connections = options->connections;
    ret_client->tls_key = options->tls_key;
    ret_client->tls_cert = options->tls_cert;
    ret_client->tls_ca = options->tls_ca;
    ret_client->tls_crl = options->tls_crl;
    ret_client->peer_identity = options->peer_identity;
}

enum cli_exit options_connect(const struct options *options, sw_client **ret_client) {
    sw_client_options client;
    options_of_client(options, &client);
    sw_error error;
    sw_status status = sw_client_open(options->endpoint, &client, ret_client, &error);
    if (status == SW_OK) return EXIT_OK;
    enum cli_exit code = messages_error(options->who, &error);
    return status == SW_INVALID_ARGUMENT ? EXIT_USAGE : code;
}
