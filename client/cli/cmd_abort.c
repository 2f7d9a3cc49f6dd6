#include "client/cli/closing.h"
#include "client/cli/commands.h"

static error_t parse(int key, char *word, struct argp_state *state) {
    struct closing *closing = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = closing;
        return 0;
    case 'm':
        closing->message = word;
        return 0;
    case ARGP_KEY_END:
        if (!closing->message || !*closing->message)
            argp_error(state, "--message TEXT is missing: why it is aborted; the others are told that");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"message", 'm', "TEXT", 0, "Why; whoever waits for a step is told that", 0},
    {0},
};

const struct argp cmd_abort_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL\nENDPOINT --all",
    .doc =
        "Give a channel up: whoever pulls what is not there is told PUBLISHER_ABORTED and the message, those "
        "that wait at once. What is held stays to be pulled. Only a new generation reopens it.\v"
        "Examples:\n"
        "  stagewire abort unix:/run/stagewire.sock train -m 'loss is NaN'\n"
        "  stagewire abort unix:/run/stagewire.sock --all -m 'node 7 is going down'\n",
    .children = (const struct argp_child[]){{&closing_argp, 0, NULL, 0}, {0}},
};

enum cli_exit cmd_abort(int argc, char **argv) {
    struct closing closing = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_abort_argp, argc, argv, 0, &closing);
    return closing_run(&closing, SW_CLOSE_ABORTED);
}
