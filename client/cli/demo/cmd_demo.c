#include "client/cli/commands.h"
#include "client/cli/demo/demo_options.h"
#include "client/cli/demo/launcher.h"
#include "client/cli/options.h"

static error_t parse(int key, char *word, struct argp_state *state) {
    (void)word;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

const struct argp cmd_demo_argp = {
    .parser = parse,
    .doc =
        "Train a small network in pipeline stages on this machine: a process a stage, each with an endpoint "
        "of its own. Activations and gradients go from neighbour to neighbour; the last stage publishes the "
        "loss metrics and log-probabilities of every step, and all others pull them.\v"
        "Examples:\n"
        "  stagewire demo\n"
        "  stagewire demo --stages 3 --transport tcp --json\n"
        "  stagewire demo --fail-at 20\n\n"
        "It fails unless every stage's digest of what it pulled is the same, and, from 200 steps, unless at "
        "least 0.95 of the images held out are recognised. The same seed and microbatches give the same "
        "losses with any number of stages.",
    .children = (const struct argp_child[]){{&demo_options_argp, 0, NULL, 0}, {0}},
};

enum cli_exit cmd_demo(int argc, char **argv) {
    struct demo_options options;
    demo_options_init(&options);
    options_parse(&cmd_demo_argp, argc, argv, 0, &options);
    return launcher_run(argv[0], &options);
}
