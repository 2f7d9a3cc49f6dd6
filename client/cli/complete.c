#include "client/cli/complete.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <stagewire/status.h>

#include "client/cli/commands.h"
#include "client/cli/option_list.h"

#define TOKEN_MAX 64

void complete_offer(FILE *out, const char *word, const char *candidate, const char *what) {
    if (strncmp(candidate, word, strlen(word)) == 0) fprintf(out, "%s\t%s\n", candidate, what);
}

static void offer_commands(FILE *out, const char *word) {
    for (const struct command *command = commands; command->name; command++)
        if (command->summary) complete_offer(out, word, command->name, command->summary);
    complete_offer(out, word, "--help", "all commands and exit codes");
    complete_offer(out, word, "--version", "of the command, the library and gRPC");
}

static void offer_reasons(FILE *out, const char *word) {
    char upper[TOKEN_MAX];
    size_t size = 0;
    for (; word[size] && size + 1 < sizeof upper; size++)
        upper[size] = (char)toupper((unsigned char)word[size]);
    upper[size] = 0;
    for (int i = 1; i < SW_REASON_COUNT; i++)
        complete_offer(out, upper, sw_reason_name((sw_reason)i), sw_reason_meaning((sw_reason)i));
}

static void offer_options(FILE *out, const struct option_list *list, const char *word) {
    for (size_t i = 0; i < list->count; i++) {
        char name[TOKEN_MAX];
        snprintf(name, sizeof name, "--%s", list->options[i].name);
        complete_offer(out, word, name, list->options[i].doc ? list->options[i].doc : "");
    }
}

/* Of a placeholder "unix|tcp" or "GENERATION:STEP|oldest" the words that are meant literally. */
static void offer_alternatives(FILE *out, const char *placeholder, const char *lead, const char *word) {
    while (*placeholder) {
        char token[TOKEN_MAX], candidate[2 * TOKEN_MAX];
        size_t size = strcspn(placeholder, "|");
        snprintf(token, sizeof token, "%.*s", (int)size, placeholder);
        placeholder += size + (placeholder[size] == '|');
        if (!islower((unsigned char)token[0])) continue;
        snprintf(candidate, sizeof candidate, "%s%s", lead, token);
        complete_offer(out, word, candidate, "");
    }
}

static void offer_value(FILE *out, const struct argp_option *option, const char *lead, const char *word) {
    if (strcmp(option->arg, "FILE") == 0 || strcmp(option->arg, "PATH") == 0)
        fputs(":files\n", out);
    else if (strchr(option->arg, '|'))
        offer_alternatives(out, option->arg, lead, word);
}

/* ---- arguments ---- */

struct typed {
    const struct command *command;
    struct option_list options;
    const char *word;                  /* that is being typed */
    const struct argp_option *pending; /* whose value it is */
    const char *arguments[2];          /* the first of those before it */
    int argument_count;
    bool only_arguments; /* behind "--" */
};

static void look_back(struct typed *typed, int count, char *const *words) {
    for (int i = 1; i < count - 1; i++) {
        bool is_option = !typed->only_arguments && words[i][0] == '-' && words[i][1];
        if (is_option && strcmp(words[i], "--") == 0) {
            typed->only_arguments = true;
        } else if (is_option && option_list_takes_next(&typed->options, words[i])) {
            if (i + 1 == count - 1) typed->pending = option_list_find(&typed->options, words[i]);
            i++;
        } else if (!is_option) {
            if (typed->argument_count < 2) typed->arguments[typed->argument_count] = words[i];
            typed->argument_count++;
        }
    }
}

/* The n-th argument of a usage "ENDPOINT CHANNEL [NAME...] -o FILE": its word without brackets, the last with
 * "..." again and again. False if there is none. */
static bool argument_at(const struct option_list *options, const char *usage, int number,
                        char token[TOKEN_MAX]) {
    int at = 0;
    bool skips = false, repeats = false;
    for (size_t size; *usage && *usage != '\n'; usage += size, usage += strspn(usage, " ")) {
        char word[TOKEN_MAX];
        size = strcspn(usage, " \n");
        snprintf(word, sizeof word, "%.*s", (int)size, usage);
        bool is_option = word[0] == '-';
        if (!is_option && !skips) {
            snprintf(token, TOKEN_MAX, "%s", word + (word[0] == '['));
            token[strcspn(token, "].")] = 0;
            repeats = strstr(word, "...");
            if (at++ == number) return true;
        }
        skips = is_option && option_list_takes_next(options, word);
    }
    return repeats;
}

/* The first of a command's usages, a line each, that has so many. */
static bool find_argument(const struct typed *typed, char token[TOKEN_MAX]) {
    const char *usage = typed->command->argp->args_doc;
    while (usage && *usage) {
        if (argument_at(&typed->options, usage, typed->argument_count, token)) return true;
        usage += strcspn(usage, "\n");
        usage += *usage == '\n';
    }
    return false;
}

static void offer_argument(const struct typed *typed, FILE *out, struct complete_wish *wish) {
    char token[TOKEN_MAX];
    if (!find_argument(typed, token)) return;
    *wish = (struct complete_wish){COMPLETE_NOTHING, typed->arguments[0], typed->arguments[1], typed->word};
    if (strcmp(token, "ENDPOINT") == 0)
        complete_offer(out, typed->word, "unix:", "the path of an endpoint's socket");
    else if (strcmp(token, "REASON") == 0)
        offer_reasons(out, typed->word);
    else if (strcmp(token, "CHANNEL") == 0)
        wish->what = COMPLETE_CHANNELS;
    else if (strcmp(token, "NAME") == 0)
        wish->what = COMPLETE_TENSORS;
    else
        offer_alternatives(out, token, "", typed->word);
}

/* "--kind=me": the value, with all that stands before it. */
static bool offer_joined_value(const struct typed *typed, FILE *out) {
    const char *value = strchr(typed->word, '=');
    const struct argp_option *option = option_list_find(&typed->options, typed->word);
    if (!value || strncmp(typed->word, "--", 2) != 0) return false;
    char lead[TOKEN_MAX];
    snprintf(lead, sizeof lead, "%.*s", (int)(value - typed->word + 1), typed->word);
    if (option && option->arg) offer_value(out, option, lead, typed->word);
    return true;
}

void complete_words(int count, char *const *words, FILE *out, struct complete_wish *ret_wish) {
    *ret_wish = (struct complete_wish){0};
    if (count == 0) return;
    struct typed typed = {.word = words[count - 1]};
    if (count == 1) {
        offer_commands(out, typed.word);
        return;
    }
    typed.command = command_find(words[0]);
    if (!typed.command || !typed.command->argp) return;
    option_list_of(typed.command->argp, &typed.options);
    look_back(&typed, count, words);
    if (typed.pending)
        offer_value(out, typed.pending, "", typed.word);
    else if (!typed.only_arguments && offer_joined_value(&typed, out))
        return;
    else if (!typed.only_arguments && typed.word[0] == '-')
        offer_options(out, &typed.options, typed.word);
    else
        offer_argument(&typed, out, ret_wish);
}
