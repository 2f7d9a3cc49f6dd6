#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/wire/messages.h"
#include "tests/support/test.h"
#include "tests/unit/wire/values.h"

static sw_buffer *encode(const sw_error *error) {
    sw_buffer *bytes;
    cr_assert_eq(status_details_encode(error, &bytes, NULL), SW_OK);
    cr_assert_leq(sw_buffer_size(bytes) + strlen(error->message), LIMIT_STATUS_BYTES);
    return bytes;
}

static sw_error there_and_back(const sw_error *error) {
    sw_buffer *bytes = encode(error);
    sw_error back;
    memset(&back, 0x77, sizeof back);
    status_details_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &back);
    sw_buffer_unref(bytes);
    return back;
}

Test(status_details, reason_and_metadata_come_back) {
    sw_error error;
    for (int reason = 1; reason < SW_REASON_COUNT; reason++) {
        error_set(&error, (sw_reason)reason, "stage 3: why");
        error_add_position(&error, "latest", 7, 1);
        error_add(&error, "message", "损失 \" is NaN");
        error_add(&error, "empty", "");
        sw_error back = there_and_back(&error);
        cr_assert_eq((int)back.reason, reason);
        cr_assert_str_eq(sw_error_metadata(&back, "latest"), "7/1");
        cr_assert_str_eq(sw_error_metadata(&back, "message"), "损失 \" is NaN");
        cr_assert_str_eq(sw_error_metadata(&back, "empty"), "");
        cr_assert_eq(back.details_size, error.details_size);
    }
}

Test(status_details, without_a_reason_there_is_none) {
    sw_error error;
    error_set_code(&error, SW_PERMISSION_DENIED, SW_REASON_NONE, "no");
    sw_error back = there_and_back(&error);
    cr_assert_eq(back.reason, SW_REASON_NONE);
    cr_assert_eq(back.details_size, 0);
}

Test(status_details, the_largest_error_fits_with_all_its_metadata) {
    sw_error error;
    char text[SW_ERROR_DETAILS_MAX], message[2000];
    memset(text, 't', sizeof text), memset(message, 'm', sizeof message);
    message[sizeof message - 1] = '\0';
    error_set(&error, SW_REASON_PUBLISH_IN_PROGRESS, "%s", message);
    error_add_number(&error, "generation", UINT64_MAX);
    error_add_bytes(&error, "consumers", text, sizeof text - 200);
    error_add(&error, "path", "x");
    sw_error back = there_and_back(&error);
    cr_assert_eq(back.details_size, error.details_size);
    cr_assert_eq(strlen(sw_error_metadata(&back, "consumers")), sizeof text - 200);
}

Test(status_details, very_many_small_pairs_are_cut_to_what_may_travel) {
    sw_error error;
    error_set(&error, SW_REASON_LIMIT, "x");
    for (int i = 0; i < 2000; i++) {
        char key[8];
        snprintf(key, sizeof key, "%x", (unsigned)i);
        error_add(&error, key, "");
    }
    sw_error back = there_and_back(&error);
    cr_assert_eq(back.reason, SW_REASON_LIMIT);
    cr_assert_not_null(sw_error_metadata(&back, "0"), "the first stay");
    cr_assert_gt(back.details_size, 1000);
}

Test(status_details, what_is_not_understood_leaves_no_reason_and_no_metadata) {
    sw_error error;
    error_set(&error, SW_REASON_EVICTED, "gone");
    error_add(&error, "oldest", "1/0");
    sw_buffer *bytes = encode(&error);
    size_t size = sw_buffer_size(bytes);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = malloc(cut ? cut : 1);
        memcpy(exact, sw_buffer_data(bytes), cut);
        sw_error back;
        status_details_decode(exact, cut, &back);
        cr_assert_eq(back.reason, SW_REASON_NONE);
        cr_assert_eq(back.details_size, 0);
        free(exact);
    }
    for (size_t at = 0; at < size; at++) {
        uint8_t *flipped = malloc(size);
        memcpy(flipped, sw_buffer_data(bytes), size);
        flipped[at] ^= 0x01;
        sw_error back;
        status_details_decode(flipped, size, &back);
        cr_assert(back.reason == SW_REASON_NONE ? back.details_size == 0 : back.reason == SW_REASON_EVICTED);
        free(flipped);
    }
    sw_buffer_unref(bytes);
}

Test(status_details, another_domain_is_not_ours) {
    sw_error error, back;
    error_set(&error, SW_REASON_EVICTED, "gone");
    sw_buffer *bytes = encode(&error);
    uint8_t data[256];
    memcpy(data, sw_buffer_data(bytes), sw_buffer_size(bytes));
    uint8_t *domain = memmem(data, sw_buffer_size(bytes), "stagewire", 9);
    cr_assert_not_null(domain);
    domain[0] = 'S';
    status_details_decode(data, sw_buffer_size(bytes), &back);
    cr_assert_eq(back.reason, SW_REASON_NONE);
    sw_buffer_unref(bytes);
}

/* google.rpc.Status as another implementation may write it: details of another type first, unknown fields. */
Test(status_details, ours_is_found_among_details_of_others) {
    static const char info[] = "type.googleapis.com/google.rpc.ErrorInfo";
    uint8_t data[200], *at = data;
    static const uint8_t other[] = {0x08, 0x0b, 0x1a, 0x05, 0x0a, 0x01, 'x', 0x12, 0x00, 0x78, 0x01};
    static const uint8_t value[] = {0x12, 9,    's',  't', 'a', 'g', 'e', 'w',  'i', 'r',
                                    'e',  0x0a, 7,    'E', 'V', 'I', 'C', 'T',  'E', 'D',
                                    0x1a, 8,    0x12, 3,   '1', '/', '0', 0x0a, 1,   'k'};
    memcpy(at, other, sizeof other), at += sizeof other;
    *at++ = 0x1a, *at++ = (uint8_t)(2 + 40 + 2 + sizeof value);
    *at++ = 0x0a, *at++ = 40;
    memcpy(at, info, 40), at += 40;
    *at++ = 0x12, *at++ = sizeof value;
    memcpy(at, value, sizeof value), at += sizeof value;
    sw_error back;
    status_details_decode(data, (size_t)(at - data), &back);
    cr_assert_eq(back.reason, SW_REASON_EVICTED);
    cr_assert_str_eq(sw_error_metadata(&back, "k"), "1/0");
}
