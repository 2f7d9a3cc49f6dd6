#include "client/cli/closing.h"
#include "client/cli/commands.h"

static error_t parse(int key, char *word, struct argp_state *state) {
    (void)word;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

const struct argp cmd_close_argp = {
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL\nENDPOINT --all",
    .doc =
        "Say that a channel is finished: what is held stays to be pulled, and whoever pulls beyond its last "
        "step is told FINISHED instead of waiting. Only a new generation reopens it.\v"
        "Examples:\n"
        "  stagewire close unix:/run/stagewire.sock train\n"
        "  stagewire close unix:/run/stagewire.sock weights --kind tensors\n"
        "  stagewire close unix:/run/stagewire.sock --all\n",
    .children = (const struct argp_child[]){{&closing_argp, 0, NULL, 0}, {0}},
};

enum cli_exit cmd_close(int argc, char **argv) {
    struct closing closing = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_close_argp, argc, argv, 0, &closing);
    return closing_run(&closing, SW_CLOSE_FINISHED);
}
