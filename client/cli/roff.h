/* Text for a manual page, in the macros of man(7). */
#ifndef STAGEWIRE_CLIENT_CLI_ROFF_H
#define STAGEWIRE_CLIENT_CLI_ROFF_H

#include <stddef.h>
#include <stdio.h>

/* As it is: what roff would take for its own is escaped. */
void roff_put(FILE *out, const char *text, size_t size);
/* Prose, in lines of at most 80 bytes; ends the line. */
void roff_prose(FILE *out, const char *text, size_t size);
void roff_text(FILE *out, const char *text);

/* Paragraphs of a help text: blank lines part them, and lines that begin with a blank stand as they are. */
void roff_paragraphs(FILE *out, const char *text, size_t size);

#endif
