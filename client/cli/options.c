#include "client/cli/options.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/messages.h"
#include "client/cli/option_list.h"
#include "client/cli/parse.h"

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

void options_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input) {
    end_if_unknown(argp, argc, argv, flags & ARGP_IN_ORDER);
    argp_parse(argp, argc, argv, flags, NULL, input);
}

uint64_t options_number(struct argp_state *state, const char *option, const char *word, uint64_t max) {
    uint64_t number = 0;
    if (!parse_number(word, max, &number))
        argp_error(state, "%s '%s': must be an integer from 0 to %" PRIu64, option, word, max);
    return number;
}

static error_t parse_common(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
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

static error_t parse_address(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    sw_address *address = &options->address;
    switch (key) {
    case 'r':
        address->run_id = word;
        return 0;
    case 'g':
        address->generation = options_number(state, "--generation", word, UINT64_MAX);
        return 0;
    case 's':
        address->stage = (uint32_t)options_number(state, "--stage", word, UINT32_MAX);
        address->has_stage = true;
        return 0;
    case 'G':
        address->group = (uint32_t)options_number(state, "--group", word, UINT32_MAX);
        return 0;
    case 'c':
        address->call = (uint32_t)options_number(state, "--call", word, UINT32_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common[] = {
    {"timeout", 't', "DURATION", 0, "Give up after that long, as in 500ms, 30s, 10m (30s)", 0},
    {"json", 'j', NULL, 0,
     "Print JSON, one object a line; NaN and infinities as \"NaN\", \"Infinity\", \"-Infinity\"", 0},
    {0},
};

static const struct argp_option address_options[] = {
    {"run", 'r', "ID", 0, "The run that the endpoint must serve (any)", 0},
    {"generation", 'g', "N", 0, "The job's generation, from 1 (the current one)", 0},
    {"stage", 's', "N", 0, "Whose value (the only stage with that channel, else the endpoint's own)", 0},
    {"group", 'G', "N", 0, "The pipeline group (0)", 0},
    {"call", 'c', "N", 0, "The n-th publication within the step, from 0 (0)", 0},
    {0},
};

const struct argp options_common = {.options = common, .parser = parse_common};
const struct argp options_address = {.options = address_options, .parser = parse_address};

enum cli_exit options_connect(const struct options *options, sw_client **ret_client) {
    sw_client_options client;
    sw_client_options_init(&client);
    client.run_id = options->address.run_id;
    client.timeout_ms = options->timeout_ms;
    sw_error error;
    sw_status status = sw_client_open(options->endpoint, &client, ret_client, &error);
    if (status == SW_OK) return EXIT_OK;
    enum cli_exit code = messages_error(options->who, &error);
    return status == SW_INVALID_ARGUMENT ? EXIT_USAGE : code;
}
