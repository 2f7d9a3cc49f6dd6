#include <argp.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/json_write.h"
#include "client/cli/messages.h"
#include "client/cli/nearest.h"
#include "client/cli/options.h"
#include "client/cli/text_table.h"
#include "client/cli/wrap.h"

struct explain {
    const char *who, *word;
    bool json;
};

/* Of an error that has no reason of stagewire's: what gRPC, or the way to the endpoint, may answer. */
static const struct plain_code {
    sw_status code;
    const char *meaning, *cause, *remedy;
} plain_codes[] = {
    {SW_CANCELLED, "the call was ended before its answer", "this process or the endpoint gave it up",
     "try again"},
    {SW_UNKNOWN, "an error without a code of its own", "what answered is mostly no stagewire endpoint",
     "check the endpoint's address"},
    {SW_INVALID_ARGUMENT, "arguments that cannot be", "they were found wrong before anything was sent",
     "correct what the message names"},
    {SW_DEADLINE_EXCEEDED, "nobody answered in time",
     "the endpoint is reachable and busy, or the network swallows what is sent",
     "try again with a longer --timeout"},
    {SW_NOT_FOUND, "there is no such thing", "what was asked for does not exist",
     "correct what the message names"},
    {SW_ALREADY_EXISTS, "something else is there already", "somebody was there before",
     "choose another place"},
    {SW_PERMISSION_DENIED, "this caller may not do that",
     "publishing is for Unix sockets, or loopback with --publish-on-loopback, and for identities that the "
     "endpoint's access rules allow",
     "use the endpoint's Unix socket, or another identity"},
    {SW_RESOURCE_EXHAUSTED, "no memory, or no descriptor, on this side",
     "the process is at a limit of the system (ulimit)", "raise that limit, or ask for less at once"},
    {SW_FAILED_PRECONDITION, "not in this state", "something must be done before",
     "do what the message says"},
    {SW_ABORTED, "it was given up", "something else came first", "try again"},
    {SW_OUT_OF_RANGE, "beyond what there is", "a number is too small or too large",
     "correct what the message names"},
    {SW_UNIMPLEMENTED, "the endpoint has no such call",
     "it is of another version, or no stagewire endpoint, or does not serve publishing at this address",
     "check the endpoint's address, and with 'stagewire info' its version"},
    {SW_INTERNAL, "a rule of gRPC was broken", "what answered is mostly no gRPC server, or one with TLS",
     "check the endpoint's address and whether it wants TLS"},
    {SW_UNAVAILABLE, "the endpoint cannot be reached",
     "nothing listens there, a firewall drops what is sent, or one side speaks TLS and the other does not",
     "check address, network and TLS; 'stagewire wait --ready' waits for it"},
    {SW_DATA_LOSS, "what arrived is not readable", "bytes were changed or lost on their way", "try again"},
    {SW_UNAUTHENTICATED, "the endpoint does not know who calls",
     "the caller shows no certificate that the endpoint trusts", "give the command its key and certificate"},
};

#define PLAIN_CODES (sizeof plain_codes / sizeof *plain_codes)

struct explanation {
    const char *name, *code, *meaning, *cause, *remedy;
};

static struct explanation of_reason(sw_reason reason) {
    return (struct explanation){sw_reason_name(reason), sw_status_name(sw_reason_status(reason)),
                                sw_reason_meaning(reason), sw_reason_cause(reason), sw_reason_remedy(reason)};
}

static bool find(const char *name, struct explanation *ret) {
    sw_reason reason = sw_reason_from_name(name);
    if (reason != SW_REASON_NONE) {
        *ret = of_reason(reason);
        return true;
    }
    for (size_t i = 0; i < PLAIN_CODES; i++) {
        const struct plain_code *plain = &plain_codes[i];
        const char *code = sw_status_name(plain->code);
        if (strcmp(code, name) != 0) continue;
        *ret = (struct explanation){code, NULL, plain->meaning, plain->cause, plain->remedy};
        return true;
    }
    return false;
}

static error_t parse(int key, char *word, struct argp_state *state) {
    struct explain *explain = state->input;
    switch (key) {
    case 'j':
        explain->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "'%s' is one argument too many", word);
        explain->word = word;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option own_options[] = {
    {"json", 'j', NULL, 0, "Print JSON, one object a line", 0},
    {0},
};

const struct argp cmd_explain_argp = {
    .options = own_options,
    .parser = parse,
    .args_doc = "[REASON]",
    .doc =
        "What the word in brackets at the end of an error means, why it happens, and what to do: a reason of "
        "stagewire's, or a plain code of gRPC's. Without a word, all reasons.\v"
        "Examples:\n"
        "  stagewire explain EVICTED\n"
        "  stagewire explain not_yet --json\n",
};

static void print_json(const struct explanation *explanation) {
    const struct {
        const char *key, *text;
    } members[] = {{"reason", explanation->name},
                   {"code", explanation->code ? explanation->code : explanation->name},
                   {"meaning", explanation->meaning},
                   {"cause", explanation->cause},
                   {"remedy", explanation->remedy}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        printf("%s\"%s\": ", i ? ", " : "{", members[i].key);
        json_write_string(stdout, members[i].text);
    }
    puts("}");
}

#define TEXT_COLUMN 14

static void print_text(const struct explanation *explanation) {
    unsigned columns = wrap_columns_of(stdout);
    printf("%s%s%s%s\n", explanation->name, explanation->code ? " (" : "",
           explanation->code ? explanation->code : "", explanation->code ? ")" : "");
    wrap_print(stdout, "  it means", TEXT_COLUMN, explanation->meaning, columns);
    wrap_print(stdout, "  because", TEXT_COLUMN, explanation->cause, columns);
    wrap_print(stdout, "  what to do", TEXT_COLUMN, explanation->remedy, columns);
}

static enum cli_exit list(bool json) {
    struct text_table table;
    text_table_init(&table, 3, (const char *const[]){"reason", "code", "meaning"});
    for (int i = 1; i < SW_REASON_COUNT; i++) {
        struct explanation explanation = of_reason((sw_reason)i);
        text_table_add(&table, "%s", explanation.name);
        text_table_add(&table, "%s", explanation.code);
        text_table_add(&table, "%s", explanation.meaning);
        if (json) print_json(&explanation);
    }
    if (!json) text_table_print(&table, stdout);
    text_table_destroy(&table);
    return EXIT_OK;
}

static enum cli_exit say_unknown(const struct explain *explain, const char *name) {
    const char *names[SW_REASON_COUNT + PLAIN_CODES];
    size_t count = 0;
    for (int i = 1; i < SW_REASON_COUNT; i++) names[count++] = sw_reason_name((sw_reason)i);
    for (size_t i = 0; i < PLAIN_CODES; i++) names[count++] = sw_status_name(plain_codes[i].code);
    const char *meant = nearest(name, names, count);
    if (meant)
        return messages_say(explain->who, EXIT_USAGE, "there is no reason '%s'; did you mean '%s'?",
                            explain->word, meant);
    return messages_say(explain->who, EXIT_USAGE, "there is no reason '%s'; '%s' lists them", explain->word,
                        explain->who);
}

enum cli_exit cmd_explain(int argc, char **argv) {
    struct explain explain = {.who = argv[0]};
    options_parse(&cmd_explain_argp, argc, argv, 0, &explain);
    if (!explain.word) return list(explain.json);

    char name[64];
    snprintf(name, sizeof name, "%s", explain.word);
    for (char *at = name; *at; at++) *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    struct explanation explanation;
    if (!find(name, &explanation)) return say_unknown(&explain, name);
    if (explain.json)
        print_json(&explanation);
    else
        print_text(&explanation);
    return EXIT_OK;
}
