#include "client/cli/exit_codes.h"

enum cli_exit exit_code_of(sw_status status) {
    switch (status) {
    case SW_OK:
        return EXIT_OK;
    case SW_NOT_FOUND:
    case SW_OUT_OF_RANGE:
        return EXIT_NOT_THERE;
    case SW_DEADLINE_EXCEEDED:
        return EXIT_TIMED_OUT;
    case SW_UNAVAILABLE:
        return EXIT_UNREACHABLE;
    case SW_INVALID_ARGUMENT:
    case SW_FAILED_PRECONDITION:
    case SW_ALREADY_EXISTS:
    case SW_PERMISSION_DENIED:
    case SW_UNAUTHENTICATED:
    case SW_UNIMPLEMENTED:
        return EXIT_REFUSED;
    case SW_ABORTED:
    case SW_CANCELLED:
        return EXIT_ABORTED;
    case SW_DATA_LOSS:
        return EXIT_DATA_LOSS;
    case SW_RESOURCE_EXHAUSTED:
        return EXIT_EXHAUSTED;
    default:
        return EXIT_INTERNAL;
    }
}
