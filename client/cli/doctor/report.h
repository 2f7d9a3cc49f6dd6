/* What 'stagewire doctor' found: a line for each check, said as soon as it is known, or all of it as JSON at
 * the end. */
#ifndef STAGEWIRE_CLIENT_CLI_DOCTOR_REPORT_H
#define STAGEWIRE_CLIENT_CLI_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "client/cli/exit_codes.h"

enum finding_state { FINDING_OK, FINDING_NOTE, FINDING_WRONG, FINDING_SKIPPED };

struct finding {
    const char *check;
    enum finding_state state;
    char *text;
    char *mend; /* the command or setting that mends it, or NULL */
};

struct report {
    FILE *out;
    bool json, is_colored;
    struct finding *findings;
    size_t count;
    enum cli_exit code; /* the first wrong one's class */
};

void report_begin(struct report *report, FILE *out, bool json);
/* Prints what --json asks for, and frees. */
enum cli_exit report_end(struct report *report, const char *endpoint);

/* `check` is a literal. Text from elsewhere may be in it: it is cleaned. */
void report_ok(struct report *report, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_note(struct report *report, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_skipped(struct report *report, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_wrong(struct report *report, const char *check, enum cli_exit code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What to do about the last finding. */
void report_mend(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
