#include "proto/wire/decode.h"

#include "proto/base/error.h"

sw_status decode_out_of_memory(const struct arena *arena, sw_error *error) {
    if (!arena->over_budget) return error_no_memory(error);
    return error_set(
        error, SW_REASON_TOO_LARGE,
        "the message takes more than %zu bytes once it is decoded; send fewer and larger things in it",
        arena->budget);
}
