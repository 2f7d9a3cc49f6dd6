/* Prose in lines of a terminal's width. */
#ifndef STAGEWIRE_CLIENT_CLI_WRAP_H
#define STAGEWIRE_CLIENT_CLI_WRAP_H

#include <stdio.h>

#define WRAP_COLUMNS 80 /* where the terminal's width is not known, or `out` is none */

/* `lead`, then `text` from column `indent` on, every further line too; ends the line. */
void wrap_print(FILE *out, const char *lead, unsigned indent, const char *text, unsigned columns);

/* The width of the terminal that `out` is, or WRAP_COLUMNS. */
unsigned wrap_columns_of(FILE *out);

#endif
