#include <string.h>

#include "proto/base/error.h"
#include "proto/base/sized.h"

/* No option struct grows to this: a size beyond it was never set. */
#define SIZE_MOST 4096

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void sized_init(void *options, size_t size, const void *defaults, size_t known) {
    memset(options, 0, size);
    memcpy(options, defaults, smaller(size, known));
    memcpy(options, &size, sizeof size);
}

sw_status sized_read(const void *options, void *known_options, size_t known, const char *init,
                     sw_error *error) {
    const unsigned char *bytes = options;
    size_t size;
    memcpy(&size, options, sizeof size);
    if (size < sizeof size || size > SIZE_MOST)
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "the options have no size; fill them with %s before setting any", init);
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0)
            return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                                  "an option is set that this library, stagewire " STAGEWIRE_VERSION
                                  ", does not know; install the one that the program was built with");
    }
    memcpy(known_options, options, smaller(size, known));
    return SW_OK;
}
