/* What the demo runs: parsed once by the launcher, and again by each stage that it starts. */
#ifndef STAGEWIRE_CLIENT_CLI_DEMO_DEMO_OPTIONS_H
#define STAGEWIRE_CLIENT_CLI_DEMO_DEMO_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#define DEMO_STEPS_MAX 1000000

enum demo_transport { DEMO_UNIX, DEMO_TCP };

struct demo_options {
    unsigned stages, microbatches;
    uint64_t steps, seed;
    bool json;
    bool fails;
    uint64_t fail_at; /* read only where `fails` */
    enum demo_transport transport;
};

void demo_options_init(struct demo_options *options);

/* A child of a command's argp; its input is `struct demo_options`. */
extern const struct argp demo_options_argp;

/* The options as arguments for a stage; the strings live in `words`. Returns how many. */
#define DEMO_ARGUMENTS_MAX 12
struct demo_words {
    char text[DEMO_ARGUMENTS_MAX][48];
};
int demo_options_arguments(const struct demo_options *options, struct demo_words *words,
                           char *arguments[DEMO_ARGUMENTS_MAX]);

#endif
