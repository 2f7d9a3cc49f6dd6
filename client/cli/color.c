#include "client/cli/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool color_fits(FILE *out) {
    const char *unwanted = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (unwanted && *unwanted) return false;
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(out));
}

const char *color_start(enum color color, bool is_colored) {
    static const char *const codes[] = {"\033[32m", "\033[31m", "\033[33m", "\033[2m"};
    return is_colored ? codes[color] : "";
}

const char *color_end(bool is_colored) {
    return is_colored ? "\033[0m" : "";
}
