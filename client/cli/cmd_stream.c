#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/channel_hint.h"
#include "client/cli/commands.h"
#include "client/cli/interrupts.h"
#include "client/cli/json_write.h"
#include "client/cli/mapping.h"
#include "client/cli/messages.h"
#include "client/cli/nearest.h"
#include "client/cli/options.h"
#include "client/cli/parse.h"
#include "client/cli/progress.h"
#include "client/cli/safetensors.h"
#include "client/cli/show_metrics.h"
#include "client/cli/whole_file.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

#define REDRAW_MS 100

struct stream {
    struct options options;
    bool latest, quiet;
    const char *output;
    char **names;
    uint32_t name_count;

    sw_client *client;
    sw_tensors *manifest;
    sw_named_tensor *tensors; /* those wanted, of the manifest */
    uint32_t count;
    struct safetensors_layout layout;
    struct whole_file file;
    struct mapping mapping;
    int interrupts;
};

/* ---- arguments ---- */

static void parse_argument(struct stream *stream, char *word, struct argp_state *state) {
    switch (state->arg_num) {
    case 0:
        stream->options.endpoint = word;
        return;
    case 1:
        stream->options.address.channel = word;
        return;
    default:
        options_step(state, word, &stream->options.address.step, &stream->latest);
        stream->names = state->argv + state->next;
        stream->name_count = (uint32_t)(state->argc - state->next);
        state->next = state->argc;
    }
}

static error_t parse(int key, char *word, struct argp_state *state) {
    static const char *const missing[] = {"ENDPOINT, CHANNEL and STEP are missing",
                                          "CHANNEL and STEP are missing", "STEP is missing"};
    struct stream *stream = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &stream->options;
        state->child_inputs[1] = &stream->options;
        return 0;
    case 'o':
        stream->output = word;
        return 0;
    case 'q':
        stream->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        parse_argument(stream, word, state);
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 3) argp_error(state, "%s", missing[state->arg_num]);
        if (!stream->output) argp_error(state, "-o FILE is missing: where the tensors are written to");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"output", 'o', "FILE", 0, "The safetensors file to write; one that is there is replaced at the end", 0},
    {"quiet", 'q', NULL, 0, "Show no progress, and say nothing unless something is wrong", 0},
    {0},
};

const struct argp cmd_stream_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "ENDPOINT CHANNEL STEP|latest [NAME...] -o FILE",
    .doc =
        "Pull tensors into a safetensors file: all of the step, or those named. The file is complete or "
        "absent, whatever happens meanwhile. --timeout is how long to wait for the step, and then for the "
        "next bytes.\v"
        "Examples:\n"
        "  stagewire stream node7:7000 weights latest -o weights.safetensors\n"
        "  stagewire stream node7:7000 weights 1000 lm_head embed -o two.safetensors\n\n"
        "A type that safetensors lacks (C128) is written as U8, and 'stagewire publish --tensors' reads it "
        "back as what it was.",
    .children = (const struct argp_child[]){{&options_common, 0, NULL, 0},
                                            {&options_address, 0, "Which item:", 0},
                                            {0}},
};

/* ---- what to pull ---- */

static enum cli_exit say_no_memory(const struct stream *stream) {
    return messages_say(stream->options.who, EXIT_EXHAUSTED, "no memory");
}

static enum cli_exit say_unknown(const struct stream *stream, const char *name) {
    uint32_t count = sw_tensors_count(stream->manifest);
    const char **names = calloc(count + 1, sizeof *names);
    if (!names) return say_no_memory(stream);
    for (uint32_t i = 0; i < count; i++) names[i] = sw_tensors_name(stream->manifest, i);
    const char *meant = nearest(name, names, count);
    enum cli_exit code =
        meant ? messages_say(stream->options.who, EXIT_NOT_THERE,
                             "there is no tensor \"%s\" in that step; did you mean \"%s\"?", name, meant)
              : messages_say(
                    stream->options.who, EXIT_NOT_THERE,
                    "there is no tensor \"%s\" in that step; 'stagewire get --tensors' lists the %" PRIu32
                    " that there are",
                    name, count);
    free(names);
    return code;
}

static enum cli_exit choose(struct stream *stream) {
    stream->count = stream->name_count ? stream->name_count : sw_tensors_count(stream->manifest);
    stream->tensors = calloc(stream->count + 1, sizeof *stream->tensors);
    if (!stream->tensors) return say_no_memory(stream);
    for (uint32_t i = 0; i < stream->count; i++) {
        const char *name = stream->name_count ? stream->names[i] : sw_tensors_name(stream->manifest, i);
        const sw_tensor_view *view = sw_tensors_find(stream->manifest, name);
        if (!view) return say_unknown(stream, name);
        stream->tensors[i] = (sw_named_tensor){.name = name, .view = *view};
        if (!safetensors_has(view))
            messages_say(stream->options.who, EXIT_OK,
                         "tensor \"%s\": safetensors has no type %s; it is written as U8, and its type noted "
                         "in __metadata__",
                         name, sw_dtype_name(view->dtype));
    }
    return EXIT_OK;
}

static enum cli_exit pull_manifest(struct stream *stream) {
    sw_error error;
    sw_pull pull = {.address = stream->options.address, .latest = stream->latest};
    if (sw_client_get_manifest(stream->client, &pull, &stream->manifest, &error) != SW_OK)
        return channel_hint_error(&stream->options, stream->client, SW_TENSORS, &error);
    return choose(stream);
}

/* ---- the file ---- */

#define NOTES_MAX 8

/* Where it comes from. */
static size_t make_notes(const sw_tensors *manifest, struct safetensors_note notes[NOTES_MAX],
                         char numbers[NOTES_MAX][24]) {
    const sw_address *address = sw_tensors_address(manifest);
    const struct {
        const char *key;
        uint64_t number;
    } counted[] = {{"stagewire.generation", address->generation},
                   {"stagewire.stage", address->stage},
                   {"stagewire.group", address->group},
                   {"stagewire.step", address->step},
                   {"stagewire.call", address->call},
                   {"stagewire.published_unix_ns", (uint64_t)sw_tensors_published_unix_ns(manifest)}};
    size_t count = 0;
    notes[count++] = (struct safetensors_note){"stagewire.run", address->run_id ? address->run_id : ""};
    notes[count++] = (struct safetensors_note){"stagewire.channel", address->channel};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%" PRIu64, counted[i].number);
        notes[count++] = (struct safetensors_note){counted[i].key, numbers[i]};
    }
    return count;
}

static void abandon(void *file) {
    whole_file_abandon(file);
}

static enum cli_exit say_wrong_file(const struct stream *stream, const sw_error *error) {
    bool is_told_wrong = error->code == SW_INVALID_ARGUMENT || error->code == SW_PERMISSION_DENIED;
    return messages_say(stream->options.who, is_told_wrong ? EXIT_USAGE : exit_code_of(error->code), "%s",
                        error->message);
}

static enum cli_exit open_file(struct stream *stream) {
    struct safetensors_note notes[NOTES_MAX];
    char numbers[NOTES_MAX][24], message[512];
    sw_error error;
    size_t note_count = make_notes(stream->manifest, notes, numbers);
    if (safetensors_lay_out(stream->tensors, stream->count, notes, note_count, &stream->layout, &error))
        return say_wrong_file(stream, &error);
    if (whole_file_open(stream->output, stream->layout.file_size, &stream->file, &error) != SW_OK)
        return say_wrong_file(stream, &error);
    if (mapping_write(stream->output, stream->file.fd, stream->layout.file_size, &stream->mapping, &error)) {
        whole_file_abandon(&stream->file);
        return say_wrong_file(stream, &error);
    }
    snprintf(message, sizeof message,
             "%s: the disk is full, or failed, while the file was being written; there is none now",
             stream->options.who);
    mapping_on_failure(message, abandon, &stream->file);
    memcpy(stream->mapping.data, stream->layout.start, stream->layout.start_size);
    return EXIT_OK;
}

/* ---- the bytes ---- */

static bool is_same(const sw_tensor_view *a, const sw_tensor_view *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* The header is of the manifest: an endpoint that was started anew meanwhile may have sent something else. */
static enum cli_exit compare(const struct stream *stream, const sw_tensors *tensors) {
    for (uint32_t i = 0; i < stream->count; i++)
        if (!is_same(&stream->tensors[i].view, sw_tensors_view(tensors, i)))
            return messages_say(stream->options.who, EXIT_ABORTED,
                                "tensor \"%s\" was replaced by another one meanwhile; stream it again",
                                stream->tensors[i].name);
    return EXIT_OK;
}

/* Until the call is over. False where it was given up: interrupted, or nothing came for too long. */
static bool follow(const struct stream *stream, sw_call *call, enum cli_exit *ret_code) {
    struct pollfd descriptors[] = {{.fd = sw_call_fd(call), .events = POLLIN},
                                   {.fd = stream->interrupts, .events = POLLIN}};
    struct progress progress;
    int64_t now = clock_now_ms(&clock_system), came_ms = now;
    uint64_t arrived = 0, total = 0, before = 0;
    *ret_code = EXIT_OK;
    progress_begin(&progress, stream->quiet, now);
    while (*ret_code == EXIT_OK && !sw_call_done(call)) {
        poll(descriptors, 2, REDRAW_MS);
        now = clock_now_ms(&clock_system);
        sw_call_progress(call, &arrived, &total);
        if (arrived != before) came_ms = now;
        before = arrived;
        progress_show(&progress, arrived, total, now);
        if (descriptors[1].revents) *ret_code = EXIT_INTERRUPTED;
        if (now - came_ms >= stream->options.timeout_ms) *ret_code = EXIT_TIMED_OUT;
    }
    progress_end(&progress);
    if (*ret_code == EXIT_TIMED_OUT)
        messages_say(stream->options.who, EXIT_TIMED_OUT,
                     "nothing came for %" PRId64 " ms, after %" PRIu64 " of %" PRIu64 " bytes",
                     stream->options.timeout_ms, arrived, total);
    return *ret_code == EXIT_OK;
}

static enum cli_exit take(struct stream *stream, sw_call *call) {
    enum cli_exit code;
    sw_tensors *tensors;
    sw_error error;
    if (!follow(stream, call, &code)) return code;
    if (sw_call_finish_tensors(call, &tensors, &error) != SW_OK)
        return messages_error(stream->options.who, &error);
    code = compare(stream, tensors);
    sw_tensors_destroy(tensors);
    return code;
}

static enum cli_exit pull_tensors(struct stream *stream) {
    if (stream->count == 0) return EXIT_OK; /* a step without tensors is a file without */
    sw_tensor_request *requests = calloc(stream->count, sizeof *requests);
    if (!requests) return say_no_memory(stream);
    for (uint32_t i = 0; i < stream->count; i++)
        requests[i] = (sw_tensor_request){.name = stream->tensors[i].name,
                                          .into = (char *)stream->mapping.data + stream->layout.offsets[i],
                                          .into_size = stream->tensors[i].view.size};
    sw_pull pull = {.address = *sw_tensors_address(stream->manifest), .timeout_ms = PARSE_DURATION_MAX_MS};
    sw_call *call;
    sw_error error;
    enum cli_exit code;
    if (sw_client_start_tensors(stream->client, &pull, requests, stream->count, &call, &error) == SW_OK) {
        code = take(stream, call);
        sw_call_destroy(call);
    } else {
        code = messages_error(stream->options.who, &error);
    }
    free(requests);
    return code;
}

/* ---- all of it ---- */

static enum cli_exit tell(const struct stream *stream) {
    uint64_t bytes = 0;
    char size[PROGRESS_BYTES_MAX], words[ADDRESS_WORDS_MAX];
    const sw_address *address = sw_tensors_address(stream->manifest);
    for (uint32_t i = 0; i < stream->count; i++) bytes += stream->tensors[i].view.size;
    if (stream->options.json) {
        fputc('{', stdout);
        show_address_json(stdout, address);
        printf(", \"tensors\": %" PRIu32 ", \"bytes\": %" PRIu64 ", \"file\": ", stream->count, bytes);
        json_write_string(stdout, stream->output);
        puts("}");
    }
    if (stream->quiet) return EXIT_OK;
    address_in_words(words, sizeof words, address, SW_TENSORS);
    return messages_say(stream->options.who, EXIT_OK, "%s: %" PRIu32 " tensor%s, %s, in %s", words,
                        stream->count, stream->count == 1 ? "" : "s", progress_bytes(size, (double)bytes),
                        stream->output);
}

static enum cli_exit fill_file(struct stream *stream) {
    enum cli_exit code = pull_tensors(stream);
    sw_error error;
    mapping_close(&stream->mapping);
    if (code != EXIT_OK) {
        whole_file_abandon(&stream->file);
        return code;
    }
    if (whole_file_commit(&stream->file, &error) != SW_OK) return say_wrong_file(stream, &error);
    return tell(stream);
}

static enum cli_exit run(struct stream *stream) {
    signal(SIGXFSZ, SIG_IGN); /* then it is an error of the call */
    enum cli_exit code = pull_manifest(stream);
    if (code != EXIT_OK) return code;
    stream->interrupts = interrupts_open();
    if (stream->interrupts < 0)
        return messages_say(stream->options.who, EXIT_EXHAUSTED, "eventfd: %s", strerror(errno));
    code = open_file(stream);
    return code == EXIT_OK ? fill_file(stream) : code;
}

enum cli_exit cmd_stream(int argc, char **argv) {
    struct stream stream = {.options = {.who = argv[0], .timeout_ms = OPTIONS_TIMEOUT_MS}};
    options_parse(&cmd_stream_argp, argc, argv, 0, &stream);
    stream.options.grace_ms = stream.options.timeout_ms;
    enum cli_exit code = options_connect(&stream.options, &stream.client);
    if (code != EXIT_OK) return code;
    code = run(&stream);
    safetensors_layout_destroy(&stream.layout);
    free(stream.tensors);
    sw_tensors_destroy(stream.manifest);
    sw_client_close(stream.client);
    return code;
}
