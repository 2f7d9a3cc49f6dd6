#include "proto/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/text.h"
#include "proto/base/utf8.h"

/* Formatting goes by a copy: the arguments may lie in the error itself. */
#define DRAFT_BYTES (2 * SW_ERROR_MESSAGE_MAX)

static void write_message(struct sw_error *error, const char *draft) {
    struct text text;
    text_init(&text, error->message, sizeof error->message);
    text_put_clean(&text, draft, strlen(draft));
}

static sw_status fill(struct sw_error *error, sw_status code, sw_reason reason, const char *format,
                      va_list arguments) {
    if (!error) return code;
    char draft[DRAFT_BYTES];
    vsnprintf(draft, sizeof draft, format, arguments);
    error->code = code;
    error->reason = reason;
    error->details_size = 0;
    write_message(error, draft);
    return code;
}

sw_status error_set(struct sw_error *error, sw_reason reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sw_status code = fill(error, sw_reason_status(reason), reason, format, arguments);
    va_end(arguments);
    return code;
}

sw_status error_set_code(struct sw_error *error, sw_status code, sw_reason reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, code, reason, format, arguments);
    va_end(arguments);
    return code;
}

sw_status error_no_memory(struct sw_error *error) {
    sw_status code = error_set(error, SW_REASON_LIMIT,
                               "no memory is left on this machine; free some, or "
                               "make what is sent smaller");
    error_add(error, "limit", "memory");
    return code;
}

void error_prefix(struct sw_error *error, const char *format, ...) {
    if (!error) return;
    char draft[DRAFT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(draft, sizeof draft, format, arguments);
    va_end(arguments);
    if (size >= 0 && (size_t)size < sizeof draft)
        snprintf(draft + size, sizeof draft - (size_t)size, "%s", error->message);
    write_message(error, draft);
}
