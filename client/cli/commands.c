#include "client/cli/commands.h"

#include <string.h>

#include "client/cli/nearest.h"

const struct command commands[] = {
    {"info", "what an endpoint holds, how busy it is", &cmd_info_argp, cmd_info},
    {"get", "pull an item and print it", &cmd_get_argp, cmd_get},
    {"publish", "publish metrics or tensors", &cmd_publish_argp, cmd_publish},
    {"stream", "pull tensors into a safetensors file", &cmd_stream_argp, cmd_stream},
    {"watch", "follow metrics as they are published", &cmd_watch_argp, cmd_watch},
    {"wait", "until an endpoint is up or a step is there", &cmd_wait_argp, cmd_wait},
    {"close", "say that a channel is finished", &cmd_close_argp, cmd_close},
    {"abort", "give a channel up, and say why", &cmd_abort_argp, cmd_abort},
    {"explain", "what a reason means, why it happens, what to do", &cmd_explain_argp, cmd_explain},
    {"doctor", "examine the way to an endpoint, and say what mends it", &cmd_doctor_argp, cmd_doctor},
    {"bench", "how fast the link to an endpoint is, and what makes it faster", &cmd_bench_argp, cmd_bench},
    {"certs", "certificates: make some to try TLS with, or see what they are", &cmd_certs_argp, cmd_certs},
    {"demo", "train in pipeline stages on this machine", &cmd_demo_argp, cmd_demo},
    {"demo-stage", NULL, NULL, cmd_demo_stage},
    {"complete", NULL, NULL, cmd_complete},
    {"man-page", NULL, NULL, cmd_man_page},
    {NULL, NULL, NULL, NULL},
};

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0) return command;
    return NULL;
}

#define COMMANDS_MAX (sizeof commands / sizeof *commands)

const char *command_suggest(const char *name) {
    const char *names[COMMANDS_MAX];
    size_t count = 0;
    for (const struct command *command = commands; command->name; command++)
        if (command->summary) names[count++] = command->name;
    return nearest(name, names, count);
}
