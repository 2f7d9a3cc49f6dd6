#include "client/cli/demo/demo_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stagewire/status.h>

#include "client/cli/demo/model/network.h"
#include "client/cli/options.h"

enum { KEY_STAGES = 2000, KEY_STEPS, KEY_MICROBATCHES, KEY_SEED, KEY_FAIL_AT, KEY_TRANSPORT, KEY_JSON };

void demo_options_init(struct demo_options *options) {
    *options = (struct demo_options){
        .stages = 4,
        .steps = 200,
        .microbatches = 8,
        .seed = NETWORK_DEFAULT_SEED,
    };
}

static void parse_transport(struct demo_options *options, const char *word, struct argp_state *state) {
    if (strcmp(word, "unix") == 0)
        options->transport = DEMO_UNIX;
    else if (strcmp(word, "tcp") == 0)
        options->transport = DEMO_TCP;
    else
        argp_error(state, "--transport '%s': must be unix or tcp", word);
}

static void check(const struct demo_options *options, struct argp_state *state) {
    struct network_options network = {
        .stages = options->stages, .microbatches = options->microbatches, .seed = options->seed};
    sw_error error;
    if (network_check(&network, &error) != SW_OK) argp_error(state, "%s", error.message);
    if (options->steps == 0) argp_error(state, "--steps 0: at least one step is needed");
    if (options->fails && options->fail_at >= options->steps)
        argp_error(state, "--fail-at %" PRIu64 ": with --steps %" PRIu64 " the steps are 0 to %" PRIu64,
                   options->fail_at, options->steps, options->steps - 1);
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct demo_options *options = state->input;
    switch (key) {
    case KEY_STAGES:
        options->stages = (unsigned)options_number(state, "--stages", word, UINT32_MAX);
        return 0;
    case KEY_STEPS:
        options->steps = options_number(state, "--steps", word, DEMO_STEPS_MAX);
        return 0;
    case KEY_MICROBATCHES:
        options->microbatches = (unsigned)options_number(state, "--microbatches", word, UINT32_MAX);
        return 0;
    case KEY_SEED:
        options->seed = options_number(state, "--seed", word, UINT64_MAX);
        return 0;
    case KEY_FAIL_AT:
        options->fails = true;
        options->fail_at = options_number(state, "--fail-at", word, DEMO_STEPS_MAX);
        return 0;
    case KEY_TRANSPORT:
        parse_transport(options, word, state);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': the demo takes no arguments, only options", word);
        return 0;
    case ARGP_KEY_END:
        check(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option table[] = {
    {"stages", KEY_STAGES, "N", 0, "Processes that share the network's layers, 1 to 4 (4)", 0},
    {"steps", KEY_STEPS, "N", 0, "Training steps (200)", 0},
    {"microbatches", KEY_MICROBATCHES, "N", 0, "Parts of a step's 256 images, a power of two (8)", 0},
    {"seed", KEY_SEED, "N", 0, "Of weights and order of images: the same seed gives the same losses (1)", 0},
    {"fail-at", KEY_FAIL_AT, "STEP", 0, "Kill the last stage at that step, to see what the others say", 0},
    {"transport", KEY_TRANSPORT, "unix|tcp", 0, "How stages reach each other (unix)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object a step", 0},
    {0},
};

const struct argp demo_options_argp = {.options = table, .parser = parse};

int demo_options_arguments(const struct demo_options *options, struct demo_words *words,
                           char *arguments[DEMO_ARGUMENTS_MAX]) {
    int count = 0;
#define WORD(...)                                                                                            \
    do {                                                                                                     \
        snprintf(words->text[count], sizeof words->text[count], __VA_ARGS__);                                \
        arguments[count] = words->text[count];                                                               \
        count++;                                                                                             \
    } while (0)
    WORD("--stages=%u", options->stages);
    WORD("--steps=%" PRIu64, options->steps);
    WORD("--microbatches=%u", options->microbatches);
    WORD("--seed=%" PRIu64, options->seed);
    WORD("--transport=%s", options->transport == DEMO_TCP ? "tcp" : "unix");
    if (options->fails) WORD("--fail-at=%" PRIu64, options->fail_at);
#undef WORD
    return count;
}
