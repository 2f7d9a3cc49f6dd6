/* What the command's exit status says: one number for each class of failure. */
#ifndef STAGEWIRE_CLIENT_CLI_EXIT_CODES_H
#define STAGEWIRE_CLIENT_CLI_EXIT_CODES_H

#include <stagewire/status.h>

/* X(name, number, meaning); the meaning is shown by --help. */
#define EXIT_CODE_MAP(X)                                                                                     \
    X(OK, 0, "done")                                                                                         \
    X(INTERNAL, 1, "something went wrong that the other numbers don't name")                                 \
    X(USAGE, 2, "wrong arguments or wrong input; nothing was asked or published")                            \
    X(NOT_THERE, 3, "no such item: skipped, evicted, beyond a finished channel, or not yet with --no-wait")  \
    X(TIMED_OUT, 4, "not published before the timeout")                                                      \
    X(UNREACHABLE, 5, "the endpoint cannot be reached, is going down, or was lost")                          \
    X(REFUSED, 6, "the endpoint refused it: wrong run, stale generation, conflict, malformed, forbidden")    \
    X(ABORTED, 7, "the step failed, the publisher aborted or is lost, or the generation was superseded")     \
    X(DATA_LOSS, 8, "what arrived is not what was published")                                                \
    X(EXHAUSTED, 9, "no room, or a limit is reached")                                                        \
    X(TRUST, 10, "a certificate, key or name is missing, wrong, expired, revoked or not trusted")            \
    X(INTERRUPTED, 130, "ended by Ctrl-C or SIGTERM")

enum cli_exit {
#define EXIT_CODE_ENUM(name, number, meaning) EXIT_##name = number,
    EXIT_CODE_MAP(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

enum cli_exit exit_code_of(sw_status status);

#endif
