#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/cli/json_read.h"
#include "client/cli/mapping.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/safetensors.h"
#include "client/cli/show_metrics.h"
#include "proto/base/error.h"
#include "proto/wire/arena.h"

#define INPUT_MAX ((size_t)64 << 20) /* bytes of JSON: more than fits a payload however it is written */

enum { KEY_FROM_GET = 1000, KEY_TENSORS };

struct publish {
    struct options options;
    bool from_get;
    const char *tensors; /* a file; NULL: metrics, from standard input */
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
    case KEY_TENSORS:
        publish->tensors = word;
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
        if (publish->tensors && publish->from_get)
            argp_error(state,
                       "--tensors and --from-get: either a file's tensors or standard input's metrics");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"from-get", KEY_FROM_GET, NULL, 0, "Standard input is what 'stagewire get --json' printed", 0},
    {"tensors", KEY_TENSORS, "FILE", 0, "Publish the tensors of a safetensors file instead of metrics", 0},
    {0},
};

const struct argp cmd_publish_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL STEP",
    .doc =
        "Publish metrics: one JSON object, or an array of objects, read from standard input. Integers stay "
        "integers, other numbers are doubles. With --tensors, publish the tensors of a safetensors "
        "file.\vExamples:\n"
        "  echo '{\"loss\": 0.25}' | stagewire publish unix:/run/a.sock train 7\n"
        "  stagewire get unix:/run/a.sock train 7 --json |\n"
        "  stagewire publish unix:/run/b.sock train 7 --from-get\n"
        "  stagewire publish unix:/run/a.sock weights 7 --tensors w.safetensors\n\n"
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

static enum cli_exit tell(const struct options *options, sw_item_kind kind, bool duplicate) {
    const sw_address *address = &options->address;
    if (options->json)
        printf("{\"channel\": \"%s\", \"step\": %" PRIu64 ", \"call\": %" PRIu32 ", \"duplicate\": %s}\n",
               address->channel, address->step, address->call, duplicate ? "true" : "false");
    char words[ADDRESS_WORDS_MAX];
    address_in_words(words, sizeof words, address, kind);
    return messages_say(options->who, EXIT_OK, duplicate ? "%s: the same is there already" : "%s: published",
                        words);
}

static enum cli_exit send_metrics(const struct publish *publish, const sw_value *metrics) {
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
    return tell(options, SW_METRICS, duplicate);
}

static enum cli_exit publish_metrics(const struct publish *publish) {
    const char *who = publish->options.who;
    if (isatty(STDIN_FILENO))
        messages_say(who, EXIT_OK, "reading metrics as JSON from the terminal; Ctrl-D ends them");
    size_t size;
    char *text = read_input(who, &size);
    if (!text) return EXIT_USAGE;
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    const sw_value *metrics;
    sw_error error;
    enum cli_exit code;
    if (json_read_metrics(text, size, publish->from_get, &arena, &metrics, &error) == SW_OK)
        code = send_metrics(publish, metrics);
    else
        code = messages_say(who, EXIT_USAGE, "standard input: %s", error.message);
    arena_destroy(&arena);
    free(text);
    return code;
}

static enum cli_exit send_tensors(const struct publish *publish, const struct safetensors *file) {
    const struct options *options = &publish->options;
    sw_client *client;
    enum cli_exit code = options_connect(options, &client);
    if (code != EXIT_OK) return code;
    bool duplicate;
    sw_error error;
    sw_status status = sw_publish_tensors(sw_client_publisher(client), &options->address, file->tensors,
                                          file->count, options->timeout_ms, &duplicate, &error);
    sw_client_close(client);
    if (status != SW_OK) return messages_error(options->who, &error);
    return tell(options, SW_TENSORS, duplicate);
}

static enum cli_exit publish_tensors(const struct publish *publish) {
    const char *who = publish->options.who;
    char message[512];
    struct mapping mapping;
    struct safetensors file;
    sw_error error;
    if (mapping_read(publish->tensors, &mapping, &error) != SW_OK)
        return messages_say(who, EXIT_USAGE, "%s", error.message);
    snprintf(message, sizeof message, "%s: the file was cut off, or its disk failed, while it was being read",
             who);
    mapping_on_failure(message, NULL, NULL);
    enum cli_exit code;
    if (safetensors_read(mapping.data, mapping.size, &file, &error) == SW_OK) {
        code = send_tensors(publish, &file);
        safetensors_destroy(&file);
    } else {
        code = messages_say(who, EXIT_USAGE, "%s: %s", publish->tensors, error.message);
    }
    mapping_close(&mapping);
    return code;
}

enum cli_exit cmd_publish(int argc, char **argv) {
    struct publish publish = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_publish_argp, argc, argv, 0, &publish);
    return publish.tensors ? publish_tensors(&publish) : publish_metrics(&publish);
}
