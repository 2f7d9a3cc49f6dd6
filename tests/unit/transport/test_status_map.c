/* An error arrives as it was sent: code, reason, message, metadata. */
#include <string.h>

#include <grpc/grpc.h>
#include <grpc/slice.h>

#include "proto/base/error.h"
#include "proto/transport/status_map.h"
#include "tests/support/test.h"

TestSuite(status_map, .init = grpc_init, .fini = grpc_shutdown, .timeout = 30);

static sw_error across(const sw_error *sent) {
    grpc_metadata entry;
    size_t count = status_metadata_make(sent, &entry);
    grpc_metadata_array trailing = {.count = count, .capacity = count, .metadata = &entry};
    grpc_slice message = grpc_slice_from_copied_string(sent->message);
    sw_error received;
    status_received((grpc_status_code)sent->code, message, &trailing, &received);
    grpc_slice_unref(message);
    status_metadata_free(&entry, count);
    return received;
}

Test(status_map, reason_message_and_metadata_arrive) {
    sw_error sent;
    error_set(&sent, SW_REASON_EVICTED, "step 7 is gone; ask for one from %d on", 9);
    error_add_position(&sent, "oldest", 9, 0);
    sw_error received = across(&sent);
    cr_assert_eq(received.code, SW_OUT_OF_RANGE);
    cr_assert_eq(received.reason, SW_REASON_EVICTED);
    cr_assert_str_eq(received.message, sent.message);
    cr_assert_str_eq(sw_error_metadata(&received, "oldest"), "9/0");
}

Test(status_map, a_plain_status_has_no_details) {
    sw_error sent;
    grpc_metadata entry;
    error_set_code(&sent, SW_PERMISSION_DENIED, SW_REASON_NONE, "not here");
    cr_assert_eq(status_metadata_make(&sent, &entry), 0);
    sw_error received = across(&sent);
    cr_assert_eq(received.code, SW_PERMISSION_DENIED);
    cr_assert_eq(received.reason, SW_REASON_NONE);
    cr_assert_str_eq(received.message, "not here");
}

Test(status_map, ok_is_no_error) {
    grpc_metadata_array trailing = {0};
    sw_error received;
    status_received(GRPC_STATUS_OK, grpc_empty_slice(), &trailing, &received);
    cr_assert_eq(received.code, SW_OK);
    cr_assert_str_eq(received.message, "");
}

Test(status_map, a_code_beyond_the_known_ones_is_unknown) {
    grpc_metadata_array trailing = {0};
    sw_error received;
    status_received((grpc_status_code)99, grpc_slice_from_static_string("odd"), &trailing, &received);
    cr_assert_eq(received.code, SW_UNKNOWN);
}

Test(status_map, details_that_are_no_protobuf_leave_the_code) {
    grpc_metadata entry = {.key = grpc_slice_from_static_string("grpc-status-details-bin"),
                           .value = grpc_slice_from_static_string("\xff\xff\xff")};
    grpc_metadata_array trailing = {.count = 1, .capacity = 1, .metadata = &entry};
    sw_error received;
    status_received(GRPC_STATUS_ABORTED, grpc_slice_from_static_string("broken"), &trailing, &received);
    cr_assert_eq(received.code, SW_ABORTED);
    cr_assert_eq(received.reason, SW_REASON_NONE);
    cr_assert_str_eq(received.message, "broken");
}
