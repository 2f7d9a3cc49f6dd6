/* Between sw_buffer and gRPC's slices, without copying where it can be helped. Any thread. */
#ifndef STAGEWIRE_TRANSPORT_SLICES_H
#define STAGEWIRE_TRANSPORT_SLICES_H

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

#include "proto/wire/chunk.h"

/* A slice over the buffer's bytes that holds a reference to it. */
grpc_slice slice_of_buffer(sw_buffer *buffer);

/* A message of head (copied, small) and `body` by reference, which it takes over: a part is grpc_slice_sub of
 * a slice_of_buffer, and grpc_empty_slice() none. */
grpc_byte_buffer *message_of_parts(const void *head, size_t head_size, grpc_slice body);
/* By reference; takes over none. */
grpc_byte_buffer *message_of_buffer(sw_buffer *buffer);

/* A received message as pieces, in place: they live as long as the message. UNIMPLEMENTED if it is
 * compressed, RESOURCE_EXHAUSTED without memory. */
struct message_pieces {
    struct chunk_piece *pieces;
    size_t count, size; /* size: bytes in all */
    struct chunk_piece few[64];
};
sw_status message_pieces_of(const grpc_byte_buffer *message, struct message_pieces *ret, sw_error *error);
void message_pieces_free(struct message_pieces *pieces);

/* One contiguous view of a small message; holds its slice until freed, and may point into itself: don't copy
 * it. Errors as above. */
struct message_flat {
    grpc_slice slice;
    const void *data;
    size_t size;
};
sw_status message_flatten(grpc_byte_buffer *message, struct message_flat *ret, sw_error *error);
void message_flat_free(struct message_flat *flat);

#endif
