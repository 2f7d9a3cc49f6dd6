#include "client/cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_is(FILE *out) {
    const char *kind = getenv("TERM");
    return isatty(fileno(out)) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool terminal_has_colors(FILE *out) {
    const char *unwanted = getenv("NO_COLOR");
    return terminal_is(out) && !(unwanted && *unwanted);
}
