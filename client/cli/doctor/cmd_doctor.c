#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/doctor/doctor.h"
#include "client/cli/messages.h"
#include "client/core/endpoint_name.h"

static error_t parse(int key, char *word, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case 'r':
        options->address.run_id = word;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"run", 'r', "ID", 0, "The run that the endpoint must serve (any)", 0},
    {0},
};

const struct argp cmd_doctor_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT",
    .doc =
        "Examine the way to an endpoint, step by step: its name, the connection, TLS and both certificates, "
        "HTTP/2, health, version, run, rights, and how fast it is. Each line is measured, and says ok, or "
        "what is wrong and what mends it.\v"
        "Examples:\n"
        "  stagewire doctor unix:/run/stagewire.sock\n"
        "  stagewire doctor node7:4317 --tls-cert bundle.pem\n"
        "\nA step takes at most 5 seconds. The exit status is 0 if nothing is wrong, else by the first thing "
        "that is: 5 the endpoint is not there or does not serve, 6 it refuses, 10 certificates, keys or "
        "names "
        "are wrong; 'stagewire --help' lists all.",
    .children = (const struct argp_child[]){{&options_endpoint, 0, NULL, 0}, {0}},
};

static const struct {
    const char *name;
    bool (*run)(struct doctor *doctor);
} checks[] = {
    {"name", check_name},
    {"connection", check_connection},
    {"files", check_files},
    {"tls", check_tls},
    {"http2", check_http2},
    {"keepalive", check_keepalive},
    {"health", check_health},
    {"version", check_version},
    {"run", check_run},
    {"rights", check_rights},
    {"warnings", check_warnings},
    {"round-trip", check_round_trip},
    {"throughput", check_throughput},
};

#define CHECKS (sizeof checks / sizeof *checks)

static void say_rest(struct doctor *doctor, size_t first) {
    char names[256] = "";
    if (first == CHECKS) return;
    for (size_t i = first; i < CHECKS; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", checks[i].name);
    }
    report_skipped(&doctor->report, "the rest", "%s: not without what is wrong above", names);
}

static void examine(struct doctor *doctor) {
    size_t next = 0;
    while (next < CHECKS)
        if (!checks[next++].run(doctor)) break;
    say_rest(doctor, next);
}

enum cli_exit cmd_doctor(int argc, char **argv) {
    struct doctor doctor = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_doctor_argp, argc, argv, 0, &doctor.options);
    char target[ENDPOINT_NAME_MAX];
    sw_error error;
    if (endpoint_name_target(doctor.options.endpoint, target, sizeof target, &error) != SW_OK) {
        messages_error(doctor.options.who, &error);
        return EXIT_USAGE;
    }
    doctor_init(&doctor);
    examine(&doctor);
    enum cli_exit code = report_end(&doctor.report, doctor.options.endpoint);
    doctor_close(&doctor);
    return code;
}
