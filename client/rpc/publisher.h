/* The publisher over RPC, a file a call; publisher.c binds them together. All but the lease block until the
 * endpoint has answered, and retry STORE_FULL and PUBLISH_IN_PROGRESS until then. */
#ifndef STAGEWIRE_CLIENT_RPC_PUBLISHER_H
#define STAGEWIRE_CLIENT_RPC_PUBLISHER_H

#include "client/rpc/call.h"

sw_status publish_metrics_call(sw_publisher *publisher, const sw_address *address, const sw_value *metrics,
                               int64_t timeout_ms, bool *ret_duplicate, sw_error *error);
sw_status publish_tensors_call(sw_publisher *publisher, const sw_address *address,
                               const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                               bool *ret_duplicate, sw_error *error);
sw_status publish_failure_call(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                               const char *message, int64_t timeout_ms, bool *ret_duplicate, sw_error *error);
sw_status close_channel_call(sw_publisher *publisher, const sw_address *address, sw_item_kind kind, bool all,
                             sw_close_reason reason, const char *message, int64_t timeout_ms,
                             sw_error *error);
sw_status attach_call(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                      sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error);

/* The address as it is to be encoded: with the client's run and the generation of its lease where it names
 * none. */
sw_address address_to_send(sw_publisher *publisher, const sw_address *address);

/* `done` of each kind of publish: remembers how far the channel has come. */
void publish_done(struct sw_call *call, const sw_error *error);

/* The answer to each kind of publish. */
sw_status publish_answer(struct sw_call *call, grpc_byte_buffer *message, bool *ret_duplicate,
                         sw_error *error);

#endif
