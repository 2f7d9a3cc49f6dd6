#include <argp.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/channel_hint.h"
#include "client/cli/commands.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/readiness.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

enum { KEY_READY = 1000, KEY_STEP };

#define LOOK_AGAIN_MS 200

struct wait {
    struct options options;
    bool ready, step;
};

static void check(const struct wait *wait, const struct argp_state *state) {
    const struct options *options = &wait->options;
    if (!options->endpoint) argp_error(state, "ENDPOINT is missing");
    if (wait->ready == wait->step) argp_error(state, "say what to wait for: either --ready or --step N");
    if (wait->ready && options->address.channel)
        argp_error(state,
                   "'%s': with --ready there is no CHANNEL; a channel's step is waited for with --step N",
                   options->address.channel);
    if (wait->step && !options->address.channel)
        argp_error(state, "CHANNEL is missing: whose step is meant?");
    if (options->kind == SW_OBJECT)
        argp_error(state, "--kind object: objects are exchanged, and nobody waits for their steps");
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct wait *wait = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; i < 4; i++) state->child_inputs[i] = &wait->options;
        return 0;
    case KEY_READY:
        wait->ready = true;
        return 0;
    case KEY_STEP:
        wait->options.address.step = options_number(state, "--step", word, SW_STEP_MAX);
        wait->step = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            wait->options.endpoint = word;
        else if (state->arg_num == 1)
            wait->options.address.channel = word;
        else
            argp_error(state, "'%s' is one argument too many", word);
        return 0;
    case ARGP_KEY_END:
        check(wait, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"ready", KEY_READY, NULL, 0, "Until the endpoint serves: it is up, and does not drain", 0},
    {"step", KEY_STEP, "N", 0, "Until step N of CHANNEL, or a later one, is published", 0},
    {0},
};

const struct argp cmd_wait_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT --ready\nENDPOINT CHANNEL --step N",
    .doc = "Wait, for scripts: until an endpoint is up, or until a channel has come to a step. Says nothing; "
           "the "
           "exit status tells how it ended. A step that failed, and a channel that ends before the step, end "
           "the "
           "wait at once.\v"
           "Examples:\n"
           "  stagewire wait node7:7000 --ready --timeout 5m && start-training\n"
           "  stagewire wait node7:7000 train --step 1000 --timeout 2h\n",
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0},
                                            {&options_place, 0, "Whose step:", 0},
                                            {&options_generation, 0, NULL, 0},
                                            {&options_kind, 0, NULL, 0},
                                            {0}},
};

/* For an endpoint that knows nothing of health. */
static sw_status wait_for_answer(sw_client *client, int64_t timeout_ms, sw_error *error) {
    sw_info *info;
    sw_status status = sw_client_info(client, timeout_ms, &info, error);
    if (status == SW_OK) sw_info_destroy(info);
    return status;
}

static sw_status wait_ready(const struct wait *wait, sw_client *client, sw_error *error) {
    static const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000};
    int64_t until = clock_now_ms(&clock_system) + wait->options.timeout_ms, left = wait->options.timeout_ms;
    do {
        bool is_ready;
        sw_status status = readiness_ask(client, left, &is_ready, error);
        if (status == SW_UNIMPLEMENTED) return wait_for_answer(client, left, error);
        if (status != SW_OK || is_ready) return status;
        nanosleep(&pause, NULL);
        left = until - clock_now_ms(&clock_system);
    } while (left > 0);
    return error_set_code(error, SW_DEADLINE_EXCEEDED, SW_REASON_NONE,
                          "%s answers and was not ready within %" PRIi64
                          " ms: it drains; wait for the one that "
                          "follows it",
                          wait->options.endpoint, wait->options.timeout_ms);
}

static sw_status pull_step(const struct wait *wait, sw_client *client, int64_t timeout_ms, sw_error *error) {
    sw_pull pull = {.address = wait->options.address, .timeout_ms = timeout_ms};
    sw_metrics *metrics;
    sw_tensors *manifest;
    sw_status status;
    if (wait->options.kind == SW_METRICS) {
        status = sw_client_get_metrics(client, &pull, &metrics, error);
        if (status == SW_OK) sw_metrics_destroy(metrics);
    } else {
        status = sw_client_get_manifest(client, &pull, &manifest, error);
        if (status == SW_OK) sw_tensors_destroy(manifest);
    }
    return status;
}

/* Gone, or passed over: either way the channel has come that far. */
static bool has_passed(const sw_error *error) {
    return error->reason == SW_REASON_EVICTED || error->reason == SW_REASON_SKIPPED;
}

/* An endpoint may end a wait sooner than we would (--max-wait). */
static sw_status wait_step(const struct wait *wait, sw_client *client, sw_error *error) {
    int64_t until = clock_now_ms(&clock_system) + wait->options.timeout_ms, left = wait->options.timeout_ms;
    sw_status status;
    do {
        status = pull_step(wait, client, left, error);
        if (status == SW_OK || has_passed(error)) return SW_OK;
        left = until - clock_now_ms(&clock_system);
    } while (error->reason == SW_REASON_NOT_YET && left > 0);
    return status;
}

enum cli_exit cmd_wait(int argc, char **argv) {
    struct wait wait = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS, .kind = SW_METRICS}};
    options_parse(&cmd_wait_argp, argc, argv, 0, &wait);

    sw_client *client;
    enum cli_exit code = options_connect(&wait.options, &client);
    if (code != EXIT_OK) return code;
    sw_error error;
    sw_status status = wait.ready ? wait_ready(&wait, client, &error) : wait_step(&wait, client, &error);
    if (status != SW_OK) code = channel_hint_error(&wait.options, client, wait.options.kind, &error);
    sw_client_close(client);
    return code;
}
