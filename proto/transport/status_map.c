#include "proto/transport/status_map.h"

#include <string.h>

#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "proto/wire/messages.h"

#define DETAILS_KEY "grpc-status-details-bin"

size_t status_metadata_make(const sw_error *error, grpc_metadata *ret_entry) {
    sw_buffer *encoded;
    if (error->reason == SW_REASON_NONE || status_details_encode(error, &encoded, NULL) != SW_OK) return 0;
    memset(ret_entry, 0, sizeof *ret_entry);
    ret_entry->key = grpc_slice_from_static_string(DETAILS_KEY);
    ret_entry->value = slice_of_buffer(encoded);
    sw_buffer_unref(encoded);
    return 1;
}

void status_metadata_free(grpc_metadata *entry, size_t count) {
    if (count > 0) grpc_slice_unref(entry->value);
}

static sw_status status_of(grpc_status_code code) {
    return code >= GRPC_STATUS_OK && code <= GRPC_STATUS_UNAUTHENTICATED ? (sw_status)code : SW_UNKNOWN;
}

void status_received(grpc_status_code code, grpc_slice details, const grpc_metadata_array *trailing,
                     sw_error *ret_error) {
    memset(ret_error, 0, sizeof *ret_error);
    if (code == GRPC_STATUS_OK) return;
    error_set_code(ret_error, status_of(code), SW_REASON_NONE, "%.*s", (int)GRPC_SLICE_LENGTH(details),
                   (const char *)GRPC_SLICE_START_PTR(details));
    for (size_t i = 0; i < trailing->count; i++) {
        const grpc_metadata *entry = &trailing->metadata[i];
        if (grpc_slice_str_cmp(entry->key, DETAILS_KEY) != 0) continue;
        status_details_decode(GRPC_SLICE_START_PTR(entry->value), GRPC_SLICE_LENGTH(entry->value), ret_error);
        return;
    }
}
