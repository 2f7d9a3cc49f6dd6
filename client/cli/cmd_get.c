#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/channel_hint.h"
#include "client/cli/commands.h"
#include "client/cli/json_write.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/show_metrics.h"
#include "client/cli/text_table.h"
#include "proto/base/error.h"

enum { KEY_NO_WAIT = 1000, KEY_TENSORS };

struct get {
    struct options options;
    bool latest, no_wait, tensors;
};

static error_t parse(int key, char *word, struct argp_state *state) {
    struct get *get = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &get->options;
        state->child_inputs[1] = &get->options;
        return 0;
    case KEY_NO_WAIT:
        get->no_wait = true;
        return 0;
    case KEY_TENSORS:
        get->tensors = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            get->options.endpoint = word;
        else if (state->arg_num == 1)
            get->options.address.channel = word;
        else if (state->arg_num == 2)
            options_step(state, word, &get->options.address.step, &get->latest);
        else
            argp_error(state, "'%s' is one argument too many", word);
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 1) argp_error(state, "ENDPOINT and CHANNEL are missing");
        if (state->arg_num < 2) argp_error(state, "CHANNEL is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"no-wait", KEY_NO_WAIT, NULL, 0, "Don't wait for what is not yet published", 0},
    {"tensors", KEY_TENSORS, NULL, 0, "Pull tensors' names, types and shapes instead of metrics", 0},
    {0},
};

const struct argp cmd_get_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL [STEP|latest]",
    .doc =
        "Pull an item and print it: by default the latest metrics of CHANNEL. What is not yet published is "
        "waited for, until the timeout.\v"
        "Examples:\n"
        "  stagewire get unix:/run/stagewire.sock train\n"
        "  stagewire get node7:7000 train 1000 --timeout 10m --json\n"
        "  stagewire get node7:7000 weights latest --tensors\n",
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0},
                                            {&options_address, 0, "Which item:", 0},
                                            {0}},
};

static enum cli_exit get_metrics(const struct get *get, sw_client *client, const sw_pull *pull) {
    sw_metrics *metrics;
    sw_error error;
    if (sw_client_get_metrics(client, pull, &metrics, &error) != SW_OK)
        return channel_hint_error(&get->options, client, SW_METRICS, &error);
    if (get->options.json)
        show_metrics_json(stdout, metrics);
    else
        show_metrics_table(stdout, metrics);
    sw_metrics_destroy(metrics);
    return EXIT_OK;
}

static enum cli_exit get_tensors(const struct get *get, sw_client *client, const sw_pull *pull) {
    sw_tensors *tensors;
    sw_error error;
    if (sw_client_get_manifest(client, pull, &tensors, &error) != SW_OK)
        return channel_hint_error(&get->options, client, SW_TENSORS, &error);
    if (get->options.json)
        show_manifest_json(stdout, tensors);
    else
        show_manifest_table(stdout, tensors);
    sw_tensors_destroy(tensors);
    return EXIT_OK;
}

enum cli_exit cmd_get(int argc, char **argv) {
    struct get get = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}, .latest = true};
    options_parse(&cmd_get_argp, argc, argv, 0, &get);

    sw_client *client;
    enum cli_exit code = options_connect(&get.options, &client);
    if (code != EXIT_OK) return code;
    sw_pull pull = {.address = get.options.address, .latest = get.latest, .no_wait = get.no_wait};
    code = get.tensors ? get_tensors(&get, client, &pull) : get_metrics(&get, client, &pull);
    sw_client_close(client);
    return code;
}
