#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/wrap.h"
#include "proto/base/malloc_settings.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/tls_identity.h"

static void print_version(FILE *out, struct argp_state *state) {
    (void)state;
    fprintf(out, "stagewire %s\nlibstagewire %s, gRPC core %s\n", STAGEWIRE_VERSION, sw_version(),
            grpc_compat_version());
}

void (*argp_program_version_hook)(FILE *, struct argp_state *) = print_version;

struct chosen {
    const struct command *command;
    int first; /* index of the command's name */
};

static error_t choose(int key, char *argument, struct argp_state *state) {
    struct chosen *chosen = state->input;
    switch (key) {
    case ARGP_KEY_ARG: {
        chosen->command = command_find(argument);
        if (!chosen->command) {
            const char *near = command_suggest(argument);
            argp_error(state, "'%s' is no command%s%s%s", argument, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
        }
        chosen->first = state->next - 1;
        state->next = state->argc;
        return 0;
    }
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no command; say what to do");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define HELP_COLUMNS 78 /* argp breaks lines behind the next */

static void print_code(FILE *out, int number, const char *meaning) {
    char lead[8];
    snprintf(lead, sizeof lead, "  %3d", number);
    wrap_print(out, lead, 7, meaning, HELP_COLUMNS);
}

/* What --help shows below the options: from the tables, so that it is complete. */
static char *help_filter(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    char *page;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    if (!out) return NULL;
    fprintf(out, "Commands:\n");
    for (const struct command *command = commands; command->name; command++)
        if (command->summary) fprintf(out, "  %-8s %s\n", command->name, command->summary);
    fprintf(out, "\n'stagewire COMMAND --help' shows a command's arguments, options and examples.\n"
                 "ENDPOINT is HOST:PORT or unix:PATH.\n"
                 "Data goes to standard output, messages to standard error.\n\nExit status:\n");
#define PRINT_CODE(name, number, meaning) print_code(out, number, meaning);
    EXIT_CODE_MAP(PRINT_CODE)
#undef PRINT_CODE
    fclose(out);
    return page;
}

int main(int argc, char **argv) {
    static const struct argp argp = {
        .parser = choose,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc =
            "Loss metrics and tensors, from the pipeline stage that owns them to everyone who needs them.\v ",
        .help_filter = help_filter,
    };
    malloc_keep_for_streams();
    tls_keep_openssl();
    grpc_compat_tls13_only();
    argp_err_exit_status = EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN); /* a peer or reader that goes away is noticed by whoever writes */
    struct chosen chosen = {0};
    char program[] = "stagewire", name[64];
    argv[0] = program;
    options_parse(&argp, argc, argv, ARGP_IN_ORDER, &chosen);

    snprintf(name, sizeof name, "stagewire %s", chosen.command->name);
    argv[chosen.first] = name;
    enum cli_exit code = chosen.command->run(argc - chosen.first, argv + chosen.first);
    return messages_flush_output(name, code);
}
