#include "proto/transport/slices.h"

#include <stdlib.h>

#include <grpc/byte_buffer_reader.h>

#include "proto/base/error.h"

static void unref_buffer(void *buffer) {
    sw_buffer_unref(buffer);
}

grpc_slice slice_of_buffer(sw_buffer *buffer) {
    size_t size = sw_buffer_size(buffer);
    if (size == 0) return grpc_empty_slice();
    return grpc_slice_new_with_user_data((void *)sw_buffer_data(buffer), size, unref_buffer,
                                         sw_buffer_ref(buffer));
}

grpc_byte_buffer *message_of_parts(const void *head, size_t head_size, grpc_slice body) {
    grpc_slice parts[2] = {grpc_slice_from_copied_buffer(head, head_size), body};
    size_t count = GRPC_SLICE_LENGTH(body) > 0 ? 2 : 1;
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(parts, count);
    grpc_slice_unref(parts[0]);
    grpc_slice_unref(parts[1]);
    return message;
}

grpc_byte_buffer *message_of_buffer(sw_buffer *buffer) {
    grpc_slice slice = slice_of_buffer(buffer);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return message;
}

static sw_status check_plain(const grpc_byte_buffer *message, sw_error *error) {
    if (message->type == GRPC_BB_RAW && message->data.raw.compression == GRPC_COMPRESS_NONE) return SW_OK;
    return error_set_code(error, SW_UNIMPLEMENTED, SW_REASON_NONE,
                          "the message is compressed, which stagewire does not read; send it as it is");
}

sw_status message_pieces_of(const grpc_byte_buffer *message, struct message_pieces *ret, sw_error *error) {
    sw_status status = check_plain(message, error);
    if (status != SW_OK) return status;
    const grpc_slice_buffer *slices = &message->data.raw.slice_buffer;
    struct chunk_piece *pieces = ret->few;
    if (slices->count > sizeof ret->few / sizeof *ret->few) pieces = malloc(slices->count * sizeof *pieces);
    if (!pieces) {
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT,
                              "no memory for a message in %zu pieces; try again later", slices->count);
    }
    for (size_t i = 0; i < slices->count; i++) {
        pieces[i].data = GRPC_SLICE_START_PTR(slices->slices[i]);
        pieces[i].size = GRPC_SLICE_LENGTH(slices->slices[i]);
    }
    ret->pieces = pieces;
    ret->count = slices->count;
    ret->size = slices->length;
    return SW_OK;
}

void message_pieces_free(struct message_pieces *pieces) {
    if (pieces->pieces != pieces->few) free(pieces->pieces);
}

static grpc_slice joined(grpc_byte_buffer *message) {
    const grpc_slice_buffer *slices = &message->data.raw.slice_buffer;
    if (slices->count == 0) return grpc_empty_slice();
    if (slices->count == 1) return grpc_slice_ref(slices->slices[0]);
    grpc_byte_buffer_reader reader;
    grpc_byte_buffer_reader_init(&reader, message);
    grpc_slice slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    return slice;
}

sw_status message_flatten(grpc_byte_buffer *message, struct message_flat *ret, sw_error *error) {
    sw_status status = check_plain(message, error);
    if (status != SW_OK) return status;
    ret->slice = joined(message);
    /* An inline slice holds its bytes itself, so the pointer must be into ours. */
    ret->data = GRPC_SLICE_START_PTR(ret->slice);
    ret->size = GRPC_SLICE_LENGTH(ret->slice);
    return SW_OK;
}

void message_flat_free(struct message_flat *flat) {
    grpc_slice_unref(flat->slice);
}
