#include "client/cli/wrap.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NARROWEST 20

unsigned wrap_columns_of(FILE *out) {
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < NARROWEST)
        return WRAP_COLUMNS;
    return size.ws_col;
}

void wrap_print(FILE *out, const char *lead, unsigned indent, const char *text, unsigned columns) {
    unsigned at = indent;
    fprintf(out, "%-*s", (int)indent, lead);
    for (size_t size; *text; text += size, text += strspn(text, " ")) {
        size = strcspn(text, " ");
        if (at > indent && at + 1 + size > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        if (at > indent) fputc(' ', out);
        at += (at > indent) + (unsigned)size;
        fwrite(text, 1, size, out);
    }
    fputc('\n', out);
}
