/* What is said on standard error. Text from elsewhere is shown without what would steer a terminal. */
#ifndef STAGEWIRE_CLIENT_CLI_MESSAGES_H
#define STAGEWIRE_CLIENT_CLI_MESSAGES_H

#include <stdio.h>

#include <stagewire/status.h>

#include "client/cli/exit_codes.h"

/* "WHO: MESSAGE [REASON]", and the exit code that goes with it. */
enum cli_exit messages_error(const char *who, const sw_error *error);

/* "WHO: text"; returns `code`. */
enum cli_exit messages_say(const char *who, enum cli_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes for a terminal: control characters as \xNN. */
void messages_put_clean(FILE *out, const char *text, size_t size);

/* The end of a command: EXIT_INTERNAL and a message where standard output took not all of it, else `code`. A
 * reader who has gone had enough, and that is no failure. */
enum cli_exit messages_flush_output(const char *who, enum cli_exit code);

#endif
