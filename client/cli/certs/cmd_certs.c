#include <argp.h>
#include <string.h>

#include "client/cli/certs/certs.h"
#include "client/cli/commands.h"
#include "client/cli/nearest.h"
#include "client/cli/options.h"

#define KINDS 3

static const char *const names[KINDS] = {"dev", "show", "revoke"};

static const struct kind {
    const char *who;
    enum cli_exit (*run)(int argc, char **argv);
} kinds[KINDS] = {
    {"stagewire certs dev", cmd_certs_dev},
    {"stagewire certs show", cmd_certs_show},
    {"stagewire certs revoke", cmd_certs_revoke},
};

struct chosen {
    const struct kind *kind;
    int first; /* index of its name */
};

static error_t choose(int key, char *word, struct argp_state *state) {
    struct chosen *chosen = state->input;
    switch (key) {
    case ARGP_KEY_ARG: {
        for (size_t i = 0; i < KINDS; i++)
            if (strcmp(word, names[i]) == 0) chosen->kind = &kinds[i];
        const char *near = chosen->kind ? NULL : nearest(word, names, KINDS);
        if (!chosen->kind)
            argp_error(state, "'%s' is neither dev, show nor revoke%s%s%s", word,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        chosen->first = state->next - 1;
        state->next = state->argc;
        return 0;
    }
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "say what to do: dev, show or revoke");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_certs_argp = {
    .parser = choose,
    .args_doc = "dev [OPTION...]\nshow FILE...\nrevoke LEAF",
    .doc =
        "dev makes a throwaway CA, and a certificate for each stage, to try TLS with. show says what a file "
        "holds, and whether it is good. revoke puts a certificate on the list of those that the throwaway CA "
        "has taken back. Each of the three has a --help of its own.\v"
        "Examples:\n"
        "  stagewire certs dev --stages 4 --dns node7\n"
        "  stagewire certs show certs/*\n"
        "\nFor production take certificates from your own CA (SPIRE, cert-manager, Vault): stagewire asks "
        "only "
        "that they name their owner, as a SPIFFE id or a DNS name, and that peers know their CA.",
};

enum cli_exit cmd_certs(int argc, char **argv) {
    struct chosen chosen = {0};
    options_parse(&cmd_certs_argp, argc, argv, ARGP_IN_ORDER, &chosen);
    argv[chosen.first] = (char *)chosen.kind->who;
    return chosen.kind->run(argc - chosen.first, argv + chosen.first);
}
