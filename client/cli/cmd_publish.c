#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/cli/json_read.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/show_metrics.h"
#include "proto/base/error.h"
#include "proto/wire/arena.h"

#define INPUT_MAX ((size_t)64 << 20) /* bytes of JSON: more than fits a payload however it is written */

enum { KEY_FROM_GET = 1000 };

struct publish {
    struct options options;
    bool from_get;
};

static error_t parse(int key, char *word, struct argp_state *state) {
    static const char *const missing[] = {"ENDPOINT, CHANNEL and STEP are missing",
                                          "CHANNEL and STEP are missing", "STEP is missing"};
    struct publish *publish = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &publish->options;
        state->child_inputs[1] = &publish->options;
        return 0;
    case KEY_FROM_GET:
        publish->from_get = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            publish->options.endpoint = word;
        else if (state->arg_num == 1)
            publish->options.address.channel = word;
        else if (state->arg_num == 2)
            publish->options.address.step = options_number(state, "STEP", word, SW_STEP_MAX);
        else
            argp_error(state, "'%s' is one argument too many", word);
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 3) argp_error(state, "%s", missing[state->arg_num]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"from-get", KEY_FROM_GET, NULL, 0, "Standard input is what 'stagewire get --json' printed", 0},
    {0},
};

const struct argp cmd_publish_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL STEP",
    .doc =
        "Publish metrics: one JSON object, or an array of objects, read from standard input. Integers stay "
        "integers, other numbers are doubles.\vExamples:\n"
        "  echo '{\"loss\": 0.25}' | stagewire publish unix:/run/a.sock train 7\n"
        "  stagewire get unix:/run/a.sock train 7 --json |\n"
        "  stagewire publish unix:/run/b.sock train 7 --from-get\n\n"
        "ENDPOINT must let you publish: a Unix socket, or loopback "
        "where the endpoint allows that. The same content at the same place again is fine.",
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0},
                                            {&options_address, 0, "Where to:", 0},
                                            {0}},
};

/* All of standard input; the caller frees it. NULL after a message. */
static char *read_input(const char *who, size_t *ret_size) {
    char *text = NULL;
    size_t size = 0, capacity = 0;
    while (size <= INPUT_MAX) {
        if (size == capacity) {
            capacity = capacity ? 2 * capacity : 65536;
            char *more = realloc(text, capacity);
            if (!more) break;
            text = more;
        }
        ssize_t got = read(STDIN_FILENO, text + size, capacity - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            messages_say(who, EXIT_USAGE, "standard input: %s", strerror(errno));
            free(text);
            return NULL;
        }
        if (got == 0) {
            *ret_size = size;
            return text;
        }
        size += (size_t)got;
    }
    messages_say(who, EXIT_USAGE, "standard input: more than %zu bytes of JSON", INPUT_MAX);
    free(text);
    return NULL;
}

static enum cli_exit publish_value(const struct publish *publish, const sw_value *metrics) {
    const struct options *options = &publish->options;
    sw_client *client;
    enum cli_exit code = options_connect(options, &client);
    if (code != EXIT_OK) return code;
    bool duplicate;
    sw_error error;
    sw_status status = sw_publish_metrics(sw_client_publisher(client), &options->address, metrics,
                                          options->timeout_ms, &duplicate, &error);
    sw_client_close(client);
    if (status != SW_OK) return messages_error(options->who, &error);

    const sw_address *address = &options->address;
    if (options->json)
        printf("{\"channel\": \"%s\", \"step\": %" PRIu64 ", \"call\": %" PRIu32 ", \"duplicate\": %s}\n",
               address->channel, address->step, address->call, duplicate ? "true" : "false");
    char words[ADDRESS_WORDS_MAX];
    address_in_words(words, sizeof words, address, SW_METRICS);
    return messages_say(options->who, EXIT_OK, duplicate ? "%s: the same is there already" : "%s: published",
                        words);
}

enum cli_exit cmd_publish(int argc, char **argv) {
    struct publish publish = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_publish_argp, argc, argv, 0, &publish);

    if (isatty(STDIN_FILENO))
        messages_say(argv[0], EXIT_OK, "reading metrics as JSON from the terminal; Ctrl-D ends them");
    size_t size;
    char *text = read_input(argv[0], &size);
    if (!text) return EXIT_USAGE;
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    const sw_value *metrics;
    sw_error error;
    enum cli_exit code;
    if (json_read_metrics(text, size, publish.from_get, &arena, &metrics, &error) == SW_OK)
        code = publish_value(&publish, metrics);
    else
        code = messages_say(argv[0], EXIT_USAGE, "standard input: %s", error.message);
    arena_destroy(&arena);
    free(text);
    return code;
}
