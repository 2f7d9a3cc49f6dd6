#include "client/cli/closing.h"

#include <inttypes.h>

#include "client/cli/json_write.h"
#include "client/cli/messages.h"
#include "client/cli/show_metrics.h"
#include "proto/base/error.h"

enum { KEY_ALL = 1100 };

static void check(const struct closing *closing, const struct argp_state *state) {
    const struct options *options = &closing->options;
    if (!options->endpoint) argp_error(state, "ENDPOINT is missing, and CHANNEL or --all");
    if (!options->address.channel && !closing->all)
        argp_error(state, "CHANNEL is missing; --all means every channel of the stage and group");
    if (options->address.channel && closing->all)
        argp_error(state, "'%s' and --all: either one channel or all", options->address.channel);
    if (options->kind && closing->all)
        argp_error(state, "--kind goes with a CHANNEL; --all means every kind");
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct closing *closing = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; i < 4; i++) state->child_inputs[i] = &closing->options;
        return 0;
    case KEY_ALL:
        closing->all = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            closing->options.endpoint = word;
        else if (state->arg_num == 1)
            closing->options.address.channel = word;
        else
            argp_error(state, "'%s' is one argument too many", word);
        return 0;
    case ARGP_KEY_END:
        check(closing, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"all", KEY_ALL, NULL, 0, "Every channel and kind of the stage and group, also those never seen", 0},
    {0},
};

const struct argp closing_argp = {
    .options = own_options,
    .parser = parse,
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0},
                                            {&options_place, 0, "Which channel:", 0},
                                            {&options_generation, 0, NULL, 0},
                                            {&options_kind, 0, NULL, 0},
                                            {0}},
};

static void print_json(const struct closing *closing, sw_close_reason reason) {
    fputs("{\"channel\": ", stdout);
    if (closing->all)
        fputs("null", stdout);
    else
        json_write_string(stdout, closing->options.address.channel);
    printf(", \"reason\": \"%s\"}\n", reason == SW_CLOSE_FINISHED ? "FINISHED" : "ABORTED");
}

static enum cli_exit tell(const struct closing *closing, sw_close_reason reason) {
    const struct options *options = &closing->options;
    const char *how = reason == SW_CLOSE_FINISHED ? "finished" : "aborted";
    if (options->json) print_json(closing, reason);
    if (closing->all) return messages_say(options->who, EXIT_OK, "every channel: %s", how);
    return messages_say(options->who, EXIT_OK, "%s \"%s\": %s", item_kind_name(options->kind),
                        options->address.channel, how);
}

enum cli_exit closing_run(const struct closing *closing, sw_close_reason reason) {
    struct closing whole = *closing;
    if (!whole.options.kind) whole.options.kind = SW_METRICS;
    const struct options *options = &whole.options;
    sw_client *client;
    enum cli_exit code = options_connect(options, &client);
    if (code != EXIT_OK) return code;
    sw_error error;
    sw_status status = sw_close_channel(sw_client_publisher(client), &options->address, options->kind,
                                        whole.all, reason, whole.message, options->timeout_ms, &error);
    sw_client_close(client);
    return status == SW_OK ? tell(&whole, reason) : messages_error(options->who, &error);
}
