#include <argp.h>

#include "client/cli/commands.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/show_info.h"

const struct argp cmd_info_argp = {
    .args_doc = "ENDPOINT",
    .doc = "What an endpoint holds, who is attached to it, and how busy it is.\v"
           "Examples:\n"
           "  stagewire info unix:/run/stagewire.sock\n"
           "  stagewire info node7:7000 --json\n",
    .children = (const struct argp_child[]){{&options_endpoint, 0, NULL, 0}, {0}},
};

enum cli_exit cmd_info(int argc, char **argv) {
    struct options options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS};
    options_parse(&cmd_info_argp, argc, argv, 0, &options);

    sw_client *client;
    enum cli_exit code = options_connect(&options, &client);
    if (code != EXIT_OK) return code;
    sw_info *info;
    sw_error error;
    if (sw_client_info(client, options.timeout_ms, &info, &error) == SW_OK) {
        if (options.json)
            show_info_json(stdout, info);
        else
            show_info_tables(stdout, options.endpoint, info);
        sw_info_destroy(info);
    } else {
        code = messages_error(options.who, &error);
    }
    sw_client_close(client);
    return code;
}
