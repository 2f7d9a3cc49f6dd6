#include "client/cli/roff.h"

#include <stdbool.h>
#include <string.h>

#define LINE_BYTES 70 /* escapes make it a little longer */

void roff_put(FILE *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bool begins_line = i == 0 || text[i - 1] == '\n';
        if (begins_line && (text[i] == '.' || text[i] == '\'')) fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\'')
            fputs("\\(aq", out);
        else if (text[i] == '`')
            fputs("\\(ga", out);
        else if (text[i] == '^' || text[i] == '~')
            fprintf(out, "\\(%s", text[i] == '^' ? "ha" : "ti");
        else
            fputc(text[i], out);
    }
}

void roff_prose(FILE *out, const char *text, size_t size) {
    size_t at = 0;
    for (const char *end = text + size, *word = text; word < end;) {
        const char *blank = memchr(word, ' ', (size_t)(end - word));
        size_t length = (size_t)((blank ? blank : end) - word);
        bool breaks = at > 0 && at + 1 + length > LINE_BYTES;
        if (at > 0) fputc(breaks ? '\n' : ' ', out);
        at = (breaks ? 0 : at + (at > 0)) + length;
        roff_put(out, word, length);
        word += length + 1;
    }
    fputc('\n', out);
}

void roff_text(FILE *out, const char *text) {
    roff_prose(out, text, strlen(text));
}

void roff_paragraphs(FILE *out, const char *text, size_t size) {
    const char *end = text + size;
    bool as_it_is = false, is_first = true;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        bool is_indented = length > 0 && text[0] == ' ';
        if (as_it_is && !is_indented) fputs(".EE\n.RE\n", out);
        if (is_indented && !as_it_is) fputs(".PP\n.RS 4\n.EX\n", out);
        if (length > 0 && !is_indented && !is_first && as_it_is) fputs(".PP\n", out);
        as_it_is = is_indented;
        is_first = false;
        if (length > 0) {
            size_t skip = is_indented ? strspn(text, " ") : 0;
            if (is_indented) {
                roff_put(out, text + skip, length - skip);
                fputc('\n', out);
            } else {
                roff_prose(out, text, length);
            }
        } else if (stop && stop + 1 < end && stop[1] != ' ') {
            fputs(".PP\n", out);
        }
        text += length + 1;
    }
    if (as_it_is) fputs(".EE\n.RE\n", out);
}
