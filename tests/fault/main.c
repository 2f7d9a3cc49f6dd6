#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fault/campaign.h"

static const struct argp_option rows[] = {
    {"seed", 's', "N", 0, "the schedule of faults, and what is published (1)", 0},
    {"seeds", 'S', "N", 0, "so many campaigns, a seed after the other (1)", 0},
    {"faults", 'n', "N", 0, "how many, a campaign (200)", 0},
    {"only", 'o', "KIND,...", 0, "faults of these kinds alone: to see which one it takes", 0},
    {"print-schedule", 'p', NULL, 0, "say which faults they are, and end", 0},
    {"verbose", 'v', NULL, 0, "all that everybody sees", 0},
    {0},
};

struct arguments {
    struct campaign_options options;
    uint64_t seeds;
    bool prints_schedule;
};

static uint64_t number_of(const char *text, struct argp_state *state) {
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (*end || end == text) argp_error(state, "'%s' is not a number", text);
    return number;
}

static void choose_kinds(char *list, struct campaign_options *options, struct argp_state *state) {
    memset(options->kinds, 0, sizeof options->kinds);
    for (char *rest, *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        enum fault_kind kind = fault_from_name(name);
        if (kind == FAULT_KINDS) argp_error(state, "there is no fault '%s'; see --print-schedule", name);
        options->kinds[kind] = true;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct arguments *arguments = state->input;
    switch (key) {
    case 's':
        arguments->options.seed = number_of(argument, state);
        return 0;
    case 'S':
        arguments->seeds = number_of(argument, state);
        return 0;
    case 'n':
        arguments->options.faults = number_of(argument, state);
        return 0;
    case 'o':
        choose_kinds(argument, &arguments->options, state);
        return 0;
    case 'p':
        arguments->prints_schedule = true;
        return 0;
    case 'v':
        arguments->options.is_verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_schedule(const struct campaign_options *options) {
    char words[160];
    for (uint64_t i = 0; i < options->faults; i++) {
        struct fault fault = fault_of(options->seed, i);
        fault_words(&fault, words);
        printf("%4" PRIu64 " after %2u events: %s\n", i, fault.gap, words);
    }
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], STAGE_ARGUMENT) == 0) return campaign_play_stage(argv + 2);
    static const struct argp argp = {
        rows,
        parse,
        NULL,
        "Four stages at work while faults are injected; what everybody saw is checked against the contract.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {.options = {.seed = 1, .faults = 200}, .seeds = 1};
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) arguments.options.kinds[kind] = true;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.prints_schedule) {
        print_schedule(&arguments.options);
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (uint64_t i = 0; i < arguments.seeds; i++, arguments.options.seed++) {
        if (campaign_run(&arguments.options)) continue;
        printf("FAILED: again with fault_campaign --seed %" PRIu64 " --faults %" PRIu64 "\n",
               arguments.options.seed, arguments.options.faults);
        return 1;
    }
    return 0;
}
