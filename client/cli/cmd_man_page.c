/* Not for people: prints stagewire(1), from the tables that --help is made of. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/option_list.h"
#include "client/cli/options.h"
#include "client/cli/roff.h"

#define PAGE_DATE "2026-11-30"

static void put_option(FILE *out, const struct argp_option *option) {
    char letter = option_list_letter(option);
    fputs(".TP\n", out);
    if (letter) {
        fputs("\\fB\\-", out);
        roff_put(out, &letter, 1);
        fputs("\\fR, ", out);
    }
    fputs("\\fB\\-\\-", out);
    roff_put(out, option->name, strlen(option->name));
    fputs("\\fR", out);
    if (option->arg) {
        fputs("=\\fI", out);
        roff_put(out, option->arg, strlen(option->arg));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    roff_text(out, option->doc);
}

static bool has(const struct option_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->options[i].name, name) == 0) return true;
    return false;
}

/* The options of `argp` that are none of `others`. */
static void put_options(FILE *out, const struct argp *argp, const struct option_list *others) {
    struct option_list list;
    option_list_of(argp, &list);
    for (size_t i = 0; i < list.count; i++)
        if (!has(others, list.options[i].name)) put_option(out, &list.options[i]);
}

/* A line a usage: "stagewire get [OPTION...] ENDPOINT CHANNEL". */
static void put_usages(FILE *out, const struct command *command) {
    const char *usage = command->argp->args_doc ? command->argp->args_doc : "";
    do {
        size_t size = strcspn(usage, "\n");
        fprintf(out, "\\fBstagewire ");
        roff_put(out, command->name, strlen(command->name));
        fputs("\\fR [\\fIOPTION...\\fR] \\fI", out);
        roff_put(out, usage, size);
        fputs("\\fR\n", out);
        usage += size + (usage[size] == '\n');
        if (*usage) fputs(".br\n", out);
    } while (*usage);
}

static void put_command(FILE *out, const struct command *command, const struct option_list *common) {
    const char *doc = command->argp->doc, *more = strchr(doc, '\v');
    size_t size = more ? (size_t)(more - doc) : strlen(doc);
    fprintf(out, ".SS %s\n", command->name);
    put_usages(out, command);
    fputs(".PP\n", out);
    roff_paragraphs(out, doc, size);
    put_options(out, command->argp, common);
    if (!more) return;
    fputs(".PP\n", out);
    roff_paragraphs(out, more + 1, strlen(more + 1));
}

static void put_commands(FILE *out) {
    struct option_list common;
    option_list_of(&options_common, &common);
    fputs(".SH COMMANDS\n", out);
    for (const struct command *command = commands; command->name; command++)
        if (command->summary) put_command(out, command, &common);
    fputs(".SH COMMON OPTIONS\n", out);
    for (size_t i = 0; i < common.count; i++) put_option(out, &common.options[i]);
}

static void put_exit_codes(FILE *out) {
    fputs(".SH EXIT STATUS\n", out);
#define PUT_CODE(name, number, meaning)                                                                      \
    fprintf(out, ".TP\n\\fB%d\\fR\n", number);                                                               \
    roff_text(out, meaning);
    EXIT_CODE_MAP(PUT_CODE)
#undef PUT_CODE
}

static void put_reasons(FILE *out) {
    fputs(".SH REASONS\n", out);
    roff_text(out, "An error ends with a word in brackets, which 'stagewire explain' explains:");
    for (int i = 1; i < SW_REASON_COUNT; i++) {
        fprintf(out, ".TP\n\\fB%s\\fR\n", sw_reason_name((sw_reason)i));
        roff_text(out, sw_reason_meaning((sw_reason)i));
    }
}

static void put_top(FILE *out) {
    fputs(".\\\" Made by 'stagewire man-page'; a test compares them.\n"
          ".TH STAGEWIRE 1 " PAGE_DATE " stagewire \"User Commands\"\n"
          ".SH NAME\n"
          "stagewire \\- loss metrics and tensors of a training job in pipeline stages\n"
          ".SH SYNOPSIS\n"
          "\\fBstagewire\\fR \\fICOMMAND\\fR [\\fIARGUMENT...\\fR]\n"
          ".br\n"
          "\\fBstagewire\\fR \\fB\\-\\-help\\fR | \\fB\\-\\-usage\\fR | \\fB\\-\\-version\\fR\n"
          ".SH DESCRIPTION\n",
          out);
    roff_text(
        out,
        "Large models train in pipeline stages, and only the last stage computes the loss. The stage that "
        "owns a value publishes it at its own endpoint and goes on; the others, and those who watch, pull "
        "it by name, with a deadline. This is the command to look at endpoints, to pull from them, and to "
        "publish from scripts.");
    fputs(".PP\n", out);
    roff_text(out,
              "ENDPOINT is HOST:PORT or unix:PATH. Data goes to standard output, messages to standard error. "
              "A step is an integer from 0 to 9223372036854775807.");
}

static void put_bottom(FILE *out) {
    fputs(".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\n", out);
    roff_text(out, "If it is set, and not empty, no colours are shown.");
    fputs(".TP\n\\fBTERM\\fR\n", out);
    roff_text(out, "If it is not set, or is dumb, neither colours nor progress are shown.");
    fputs(".SH SEE ALSO\n.BR stagewired (8)\n", out);
}

enum cli_exit cmd_man_page(int argc, char **argv) {
    (void)argc, (void)argv;
    put_top(stdout);
    put_commands(stdout);
    put_exit_codes(stdout);
    put_reasons(stdout);
    put_bottom(stdout);
    return EXIT_OK;
}
