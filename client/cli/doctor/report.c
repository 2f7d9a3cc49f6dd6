#include "client/cli/doctor/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/color.h"
#include "client/cli/json_write.h"
#include "client/cli/memory.h"
#include "client/cli/messages.h"

#define STATE_WIDTH 6
#define CHECK_WIDTH 12

static const struct {
    const char *name;
    enum color color;
} states[] = {
    [FINDING_OK] = {"ok", COLOR_GOOD},
    [FINDING_NOTE] = {"note", COLOR_DOUBTFUL},
    [FINDING_WRONG] = {"wrong", COLOR_BAD},
    [FINDING_SKIPPED] = {"skip", COLOR_FAINT},
};

void report_begin(struct report *report, FILE *out, bool json) {
    *report = (struct report){.out = out, .json = json, .is_colored = color_fits(out), .code = EXIT_OK};
}

static void put_clean(FILE *out, const char *text) {
    messages_put_clean(out, text, strlen(text));
}

static void print(const struct report *report, const struct finding *finding) {
    fprintf(report->out, "%s%-*s%s %-*s ", color_start(states[finding->state].color, report->is_colored),
            STATE_WIDTH, states[finding->state].name, color_end(report->is_colored), CHECK_WIDTH,
            finding->check);
    put_clean(report->out, finding->text);
    fputc('\n', report->out);
    fflush(report->out);
}

static void add(struct report *report, enum finding_state state, const char *check, const char *format,
                va_list arguments) {
    char *text;
    int size = vasprintf(&text, format, arguments);
    memory_check(size < 0 ? NULL : text);
    size_t room = (report->count + 1) * sizeof *report->findings;
    report->findings = memory_check(realloc(report->findings, room));
    struct finding *finding = &report->findings[report->count++];
    *finding = (struct finding){check, state, text, NULL};
    if (!report->json) print(report, finding);
}

void report_ok(struct report *report, const char *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(report, FINDING_OK, check, format, arguments);
    va_end(arguments);
}

void report_note(struct report *report, const char *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(report, FINDING_NOTE, check, format, arguments);
    va_end(arguments);
}

void report_skipped(struct report *report, const char *check, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(report, FINDING_SKIPPED, check, format, arguments);
    va_end(arguments);
}

void report_wrong(struct report *report, const char *check, enum cli_exit code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(report, FINDING_WRONG, check, format, arguments);
    va_end(arguments);
    if (report->code == EXIT_OK) report->code = code;
}

void report_mend(struct report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text;
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    memory_check(size < 0 ? NULL : text);
    struct finding *finding = &report->findings[report->count - 1];
    free(finding->mend);
    finding->mend = text;
    if (report->json) return;
    fprintf(report->out, "%*s mend: ", STATE_WIDTH + 1 + CHECK_WIDTH, "");
    put_clean(report->out, text);
    fputc('\n', report->out);
    fflush(report->out);
}

static void put_finding_json(FILE *out, const struct finding *finding) {
    fputs("{\"check\": ", out);
    json_write_string(out, finding->check);
    fprintf(out, ", \"state\": \"%s\", \"text\": ", states[finding->state].name);
    json_write_string(out, finding->text);
    fputs(", \"mend\": ", out);
    if (finding->mend)
        json_write_string(out, finding->mend);
    else
        fputs("null", out);
    fputc('}', out);
}

static void put_json(const struct report *report, const char *endpoint) {
    fputs("{\"endpoint\": ", report->out);
    json_write_string(report->out, endpoint);
    fprintf(report->out, ", \"ok\": %s, \"exit\": %d, \"checks\": [",
            report->code == EXIT_OK ? "true" : "false", report->code);
    for (size_t i = 0; i < report->count; i++) {
        if (i) fputs(", ", report->out);
        put_finding_json(report->out, &report->findings[i]);
    }
    fputs("]}\n", report->out);
}

enum cli_exit report_end(struct report *report, const char *endpoint) {
    if (report->json) put_json(report, endpoint);
    for (size_t i = 0; i < report->count; i++) {
        free(report->findings[i].text);
        free(report->findings[i].mend);
    }
    free(report->findings);
    return report->code;
}
