/* Why a connection did not come about, in words that say what to do. */
#include <string.h>

#include "client/core/connect_words.h"
#include "proto/base/error.h"
#include "tests/support/test.h"

static sw_error error;

static const char *words(const char *grpc_says, bool speaks_tls) {
    error_set_code(&error, SW_UNAVAILABLE, SW_REASON_NONE,
                   "failed to connect to all addresses; last error: %s", grpc_says);
    connect_words(&error, speaks_tls);
    return error.message;
}

static void expect(const char *message, const char *part) {
    cr_assert_not_null(strstr(message, part), "%s", message);
}

Test(connect_words, each_failure_of_the_handshake_says_what_to_do_and_what_grpc_said) {
    const char *unknown =
        "UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: SSL_ERROR_SSL: error:0A000086:SSL "
        "routines::certificate verify failed";
    expect(words(unknown, true), "none of the CAs in tls_ca");
    expect(error.message, unknown);
    expect(words("error:0A00010B:SSL routines::wrong version number", true), "speaks no TLS");
    expect(words("error:0A000415:SSL routines::sslv3 alert certificate expired", true),
           "refuses this client's");
    expect(words("UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed", true), "doesn't accept this client's");
    expect(words("UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed", false), "give certificates");
}

Test(connect_words, our_own_check_of_the_server_speaks_for_itself) {
    cr_assert_str_eq(words("UNKNOWN: ipv4:127.0.0.1:1: Custom verification check failed with error: "
                           "UNAUTHENTICATED: wrong name: x",
                           true),
                     "wrong name: x");
}

Test(connect_words, what_is_about_something_else_stays) {
    cr_assert_str_eq(words("Connection refused", true),
                     "failed to connect to all addresses; last error: Connection refused");
    error_set(&error, SW_REASON_SHUTTING_DOWN, "Socket closed");
    connect_words(&error, true);
    cr_assert_str_eq(error.message, "Socket closed");
    error_set_code(&error, SW_PERMISSION_DENIED, SW_REASON_NONE, "Socket closed");
    connect_words(&error, true);
    cr_assert_str_eq(error.message, "Socket closed");
}
