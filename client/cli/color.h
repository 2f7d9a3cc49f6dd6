/* Colour, for people: only where the output is a terminal that shows it, and NO_COLOR is not set. */
#ifndef STAGEWIRE_CLIENT_CLI_COLOR_H
#define STAGEWIRE_CLIENT_CLI_COLOR_H

#include <stdbool.h>
#include <stdio.h>

enum color { COLOR_GOOD, COLOR_BAD, COLOR_DOUBTFUL, COLOR_FAINT };

bool color_fits(FILE *out);

/* What to print before and after; "" where `is_colored` is false. */
const char *color_start(enum color color, bool is_colored);
const char *color_end(bool is_colored);

#endif
