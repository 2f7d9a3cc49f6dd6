#include "tests/fuzz/common/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_holds(bool condition, const char *text, const char *file, int line) {
    if (condition) return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    abort();
}

void fuzz_refused(sw_status status, const sw_error *error) {
    HOLDS(status == SW_INVALID_ARGUMENT);
    HOLDS(error->reason == SW_REASON_MALFORMED || error->reason == SW_REASON_TOO_LARGE);
    HOLDS(error->message[0]);
}

bool fuzz_same_bytes(const sw_buffer *a, const sw_buffer *b) {
    return sw_buffer_size(a) == sw_buffer_size(b) &&
           memcmp(sw_buffer_data(a), sw_buffer_data(b), sw_buffer_size(a)) == 0;
}

char *fuzz_string(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    HOLDS(text);
    size_t length = 0;
    for (size_t i = 0; i < size; i++)
        if (data[i]) text[length++] = (char)data[i];
    text[length] = 0;
    return text;
}
