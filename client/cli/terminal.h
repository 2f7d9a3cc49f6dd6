/* What a terminal may be sent. */
#ifndef STAGEWIRE_CLIENT_CLI_TERMINAL_H
#define STAGEWIRE_CLIENT_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* It is a terminal that can move its cursor. */
bool terminal_is(FILE *out);

/* That, and nobody set NO_COLOR (https://no-color.org). */
bool terminal_has_colors(FILE *out);

#endif
