/* Errors across the wire: code and message as gRPC's status, reason and metadata as google.rpc.ErrorInfo in
 * grpc-status-details-bin. */
#ifndef STAGEWIRE_TRANSPORT_STATUS_MAP_H
#define STAGEWIRE_TRANSPORT_STATUS_MAP_H

#include <grpc/grpc.h>

#include <stagewire/status.h>

/* Trailing metadata for an error: fills one entry and returns 1, or 0 where there is no reason. Free with
 * status_metadata_free after the batch has come back. */
size_t status_metadata_make(const sw_error *error, grpc_metadata *ret_entry);
void status_metadata_free(grpc_metadata *entry, size_t count);

/* What a client received. Strings are copied. With GRPC_STATUS_OK `ret_error` is zeroed. */
void status_received(grpc_status_code code, grpc_slice details, const grpc_metadata_array *trailing,
                     sw_error *ret_error);

#endif
