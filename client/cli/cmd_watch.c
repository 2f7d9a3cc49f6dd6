#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/cli/interrupts.h"
#include "client/cli/messages.h"
#include "client/cli/options.h"
#include "client/cli/parse.h"
#include "client/cli/show_event.h"
#include "client/cli/terminal.h"

enum { KEY_FROM = 1000 };

struct watch {
    struct options options;
    sw_watch_start start;
    uint64_t generation, step; /* of SW_WATCH_POSITIONS */
    char **channels;
    uint32_t channel_count;

    sw_client *client;
    sw_watch *watch;
    int interrupts;
    bool colors;
};

/* ---- arguments ---- */

static void parse_from(struct watch *watch, const char *word, struct argp_state *state) {
    char generation[24] = "";
    size_t size = strcspn(word, ":");
    if (strcmp(word, "oldest") == 0) {
        watch->start = SW_WATCH_OLDEST_HELD;
        return;
    }
    watch->start = SW_WATCH_POSITIONS;
    if (size < sizeof generation) memcpy(generation, word, size);
    if (word[size] != ':' || !parse_number(generation, UINT64_MAX, &watch->generation) ||
        !parse_number(word + size + 1, SW_STEP_MAX, &watch->step) || watch->generation == 0)
        argp_error(state, "--from '%s': must be GENERATION:STEP with a generation from 1, or 'oldest'", word);
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct watch *watch = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &watch->options;
        state->child_inputs[1] = &watch->options;
        return 0;
    case KEY_FROM:
        parse_from(watch, word, state);
        return 0;
    case ARGP_KEY_ARG:
        watch->options.endpoint = word;
        watch->channels = state->argv + state->next;
        watch->channel_count = (uint32_t)(state->argc - state->next);
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "ENDPOINT is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"from", KEY_FROM, "GENERATION:STEP|oldest", 0,
     "Begin with what is held from there on, instead of with what comes new", 0},
    {0},
};

const struct argp cmd_watch_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT [CHANNEL...]",
    .doc =
        "Follow metrics as they are published, a line an event, until Ctrl-C: of every channel, or of those "
        "named; a * at the end of a name stands for the rest. Failures, closings, publishers that are lost, "
        "gaps (what was there, and is no longer held) and new generations are told too. A connection that "
        "breaks is taken up again where it was, for as long as --timeout says.\v"
        "Examples:\n"
        "  stagewire watch unix:/run/stagewire.sock\n"
        "  stagewire watch node7:7000 train 'eval/*' --json\n"
        "  stagewire watch node7:7000 train --from 2:1000\n",
    .children =
        (const struct argp_child[]){{&options_common, 0, NULL, 0}, {&options_only, 0, "Only of:", 0}, {0}},
};

/* ---- where it begins ---- */

static bool matches(const char *pattern, const char *channel) {
    size_t size = strlen(pattern);
    if (size > 0 && pattern[size - 1] == '*') return strncmp(pattern, channel, size - 1) == 0;
    return strcmp(pattern, channel) == 0;
}

static bool is_wanted(const struct watch *watch, const sw_channel_info *channel) {
    const sw_address *only = &watch->options.address, *latest = &channel->latest;
    if (channel->kind != SW_METRICS) return false;
    if (only->has_stage && only->stage != latest->stage) return false;
    if (watch->options.has_group && only->group != latest->group) return false;
    bool found = watch->channel_count == 0;
    for (uint32_t i = 0; i < watch->channel_count; i++)
        found = found || matches(watch->channels[i], latest->channel);
    return found;
}

/* The position in each channel that there is; they live as long as `info`, the array is the caller's. */
static sw_address *positions_of(const struct watch *watch, const sw_info *info, uint32_t *ret_count) {
    sw_address *positions = calloc(info->channel_count + 1, sizeof *positions);
    uint32_t count = 0;
    for (uint32_t i = 0; positions && i < info->channel_count; i++) {
        if (!is_wanted(watch, &info->channels[i])) continue;
        sw_address position = info->channels[i].latest;
        position.generation = watch->generation;
        position.has_stage = true;
        position.step = watch->step;
        position.call = 0;
        positions[count++] = position;
    }
    *ret_count = count;
    return positions;
}

static sw_watch_filter *filters_of(const struct watch *watch, uint32_t *ret_count) {
    uint32_t count = watch->channel_count ? watch->channel_count : 1;
    sw_watch_filter *filters = calloc(count, sizeof *filters);
    for (uint32_t i = 0; filters && i < count; i++)
        filters[i] = (sw_watch_filter){.channel = watch->channel_count ? watch->channels[i] : NULL,
                                       .has_stage = watch->options.address.has_stage,
                                       .stage = watch->options.address.stage,
                                       .has_group = watch->options.has_group,
                                       .group = watch->options.address.group};
    *ret_count = count;
    return filters;
}

static sw_status begin(struct watch *watch, const sw_info *info, sw_error *error) {
    uint32_t filter_count, position_count = 0;
    sw_address *positions = info ? positions_of(watch, info, &position_count) : NULL;
    sw_watch_filter *filters = filters_of(watch, &filter_count);
    sw_status status = SW_RESOURCE_EXHAUSTED;
    if (!filters || (info && !positions))
        snprintf(error->message, sizeof error->message, "no memory for the watch");
    else
        status = sw_client_watch(watch->client, filters, filter_count, watch->start, positions,
                                 position_count, watch->options.timeout_ms, &watch->watch, error);
    free(filters);
    free(positions);
    return status;
}

static sw_status open_watch(struct watch *watch, sw_error *error) {
    sw_info *info = NULL;
    if (watch->start == SW_WATCH_POSITIONS) {
        sw_status status = sw_client_info(watch->client, watch->options.timeout_ms, &info, error);
        if (status != SW_OK) return status;
    }
    sw_status status = begin(watch, info, error);
    sw_info_destroy(info);
    return status;
}

/* A channel that came into being later starts at its beginning: what lies before is not wanted either. */
static bool is_before(const struct watch *watch, const sw_watch_event *event) {
    if (watch->start != SW_WATCH_POSITIONS) return false;
    if (event->type != SW_EVENT_PUBLISHED && event->type != SW_EVENT_FAILED) return false;
    if (event->address.generation != watch->generation) return event->address.generation < watch->generation;
    return event->address.step < watch->step;
}

/* ---- following ---- */

static bool is_empty(const sw_error *error) {
    return error->code == SW_DEADLINE_EXCEEDED && error->reason == SW_REASON_NONE;
}

/* All that has come. False where it is over, with the command's exit code. */
static bool show_news(struct watch *watch, enum cli_exit *ret_code) {
    sw_watch_event event;
    sw_error error;
    while (sw_watch_next(watch->watch, 0, &event, &error) == SW_OK) {
        if (is_before(watch, &event)) continue;
        if (watch->options.json)
            show_event_json(stdout, &event);
        else
            show_event_text(stdout, &event, watch->colors);
        if (ferror(stdout)) return false;
    }
    if (fflush(stdout) != 0) return false;
    if (is_empty(&error)) return true;
    *ret_code = messages_error(watch->options.who, &error);
    return false;
}

static enum cli_exit follow(struct watch *watch) {
    enum cli_exit code = EXIT_OK;
    struct pollfd descriptors[] = {{.fd = sw_watch_fd(watch->watch), .events = POLLIN},
                                   {.fd = watch->interrupts, .events = POLLIN},
                                   {.fd = STDOUT_FILENO}}; /* whether anybody reads it still */
    do {
        while (poll(descriptors, 3, -1) < 0 && errno == EINTR) {
        }
        if (descriptors[1].revents) return EXIT_INTERRUPTED;
        if (descriptors[2].revents & (POLLERR | POLLHUP)) return EXIT_OK;
    } while (show_news(watch, &code));
    return code;
}

static enum cli_exit run(struct watch *watch) {
    sw_error error = {.code = SW_RESOURCE_EXHAUSTED};
    if (open_watch(watch, &error) != SW_OK) return messages_error(watch->options.who, &error);
    watch->interrupts = interrupts_open();
    enum cli_exit code = watch->interrupts < 0 ? messages_say(watch->options.who, EXIT_EXHAUSTED,
                                                              "eventfd: %s", strerror(errno))
                                               : follow(watch);
    sw_watch_close(watch->watch);
    return code;
}

enum cli_exit cmd_watch(int argc, char **argv) {
    struct watch watch = {
        .options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS},
        .start = SW_WATCH_NEW,
        .colors = terminal_has_colors(stdout),
    };
    options_parse(&cmd_watch_argp, argc, argv, 0, &watch);
    watch.options.grace_ms = watch.options.timeout_ms;
    enum cli_exit code = options_connect(&watch.options, &watch.client);
    if (code != EXIT_OK) return code;
    code = run(&watch);
    sw_client_close(watch.client);
    return code;
}
