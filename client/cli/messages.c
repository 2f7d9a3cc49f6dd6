#include "client/cli/messages.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void messages_put_clean(FILE *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool c1 = byte == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;
        if (byte < 0x20 || byte == 0x7f)
            fprintf(out, "\\x%02x", byte);
        else if (c1)
            fprintf(out, "\\x%02x", (unsigned char)text[++i]);
        else
            fputc(byte, out);
    }
}

static void put_line(const char *who, const char *text, const char *reason) {
    flockfile(stderr);
    fprintf(stderr, "%s: ", who);
    messages_put_clean(stderr, text, strlen(text));
    if (*reason) fprintf(stderr, " [%s]", reason);
    fputc('\n', stderr);
    funlockfile(stderr);
}

enum cli_exit messages_error(const char *who, const sw_error *error) {
    const char *reason =
        error->reason == SW_REASON_NONE ? sw_status_name(error->code) : sw_reason_name(error->reason);
    put_line(who, error->message, reason);
    return exit_code_of(error->code);
}

enum cli_exit messages_say(const char *who, enum cli_exit code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text;
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0) return code;
    put_line(who, text, "");
    free(text);
    return code;
}

static bool is_read_by_nobody(int descriptor) {
    struct pollfd output = {.fd = descriptor};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

enum cli_exit messages_flush_output(const char *who, enum cli_exit code) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    int why = errno;
    if (is_read_by_nobody(STDOUT_FILENO)) return code;
    return messages_say(who, EXIT_INTERNAL, "standard output: %s", strerror(why));
}
