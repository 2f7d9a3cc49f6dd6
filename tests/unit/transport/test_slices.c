/* Messages are made of references, and read where they lie. */
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>

#include "proto/transport/slices.h"
#include "tests/support/test.h"

TestSuite(slices, .init = grpc_init, .fini = grpc_shutdown, .timeout = 30);

static int released;
static void count_release(void *context) {
    (void)context;
    released++;
}

static sw_buffer *wrap(const char *text) {
    sw_buffer *buffer;
    released = 0;
    cr_assert_eq(sw_buffer_wrap(text, strlen(text), count_release, NULL, &buffer, NULL), SW_OK);
    return buffer;
}

static const char text[] = "bytes that are long enough not to be kept within a slice";

Test(slices, a_slice_points_into_the_buffer_and_holds_it) {
    sw_buffer *buffer = wrap(text);
    grpc_slice slice = slice_of_buffer(buffer);
    sw_buffer_unref(buffer);
    cr_assert(GRPC_SLICE_START_PTR(slice) == (const uint8_t *)text);
    cr_assert_eq(released, 0);
    grpc_slice_unref(slice);
    cr_assert_eq(released, 1);
}

Test(slices, an_empty_buffer_is_an_empty_message) {
    sw_buffer *buffer = wrap("");
    grpc_byte_buffer *message = message_of_buffer(buffer);
    cr_assert_eq(grpc_byte_buffer_length(message), 0);
    grpc_byte_buffer_destroy(message);
    sw_buffer_unref(buffer);
    cr_assert_eq(released, 1);
}

Test(slices, a_message_of_parts_is_the_head_and_then_the_body_by_reference) {
    sw_buffer *buffer = wrap(text);
    grpc_slice whole = slice_of_buffer(buffer);
    grpc_byte_buffer *message = message_of_parts("head", 4, grpc_slice_sub(whole, 6, 10));
    grpc_slice_unref(whole);
    sw_buffer_unref(buffer);
    struct message_pieces pieces;
    cr_assert_eq(message_pieces_of(message, &pieces, NULL), SW_OK);
    cr_assert_eq(pieces.size, 8);
    cr_assert_eq(memcmp(pieces.pieces[0].data, "head", 4), 0);
    struct message_flat flat;
    cr_assert_eq(message_flatten(message, &flat, NULL), SW_OK);
    cr_assert(flat.size == 8 && memcmp(flat.data, "headthat", 8) == 0);
    message_flat_free(&flat);
    message_pieces_free(&pieces);
    grpc_byte_buffer_destroy(message);
    cr_assert_eq(released, 1);
}

Test(slices, a_head_alone_is_a_message) {
    grpc_byte_buffer *message = message_of_parts("head", 4, grpc_empty_slice());
    cr_assert_eq(grpc_byte_buffer_length(message), 4);
    grpc_byte_buffer_destroy(message);
}

#define MANY 300

Test(slices, a_message_cut_into_many_pieces_is_read_in_place) {
    grpc_slice parts[MANY];
    for (size_t i = 0; i < MANY; i++) parts[i] = grpc_slice_from_static_buffer(text, sizeof text);
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(parts, MANY);
    struct message_pieces pieces;
    cr_assert_eq(message_pieces_of(message, &pieces, NULL), SW_OK);
    cr_assert(pieces.count == MANY && pieces.size == MANY * sizeof text);
    for (size_t i = 0; i < MANY; i++) cr_assert(pieces.pieces[i].data == (const uint8_t *)text);
    message_pieces_free(&pieces);
    struct message_flat flat;
    cr_assert_eq(message_flatten(message, &flat, NULL), SW_OK);
    cr_assert_eq(flat.size, MANY * sizeof text);
    cr_assert_eq(memcmp((const char *)flat.data + (MANY - 1) * sizeof text, text, sizeof text), 0);
    message_flat_free(&flat);
    grpc_byte_buffer_destroy(message);
}

Test(slices, a_compressed_message_is_refused) {
    grpc_slice part = grpc_slice_from_static_string("whatever");
    grpc_byte_buffer *message = grpc_raw_compressed_byte_buffer_create(&part, 1, GRPC_COMPRESS_GZIP);
    struct message_flat flat;
    struct message_pieces pieces;
    sw_error error;
    cr_assert_eq(message_flatten(message, &flat, &error), SW_UNIMPLEMENTED);
    cr_assert_not_null(strstr(error.message, "compressed"));
    cr_assert_eq(message_pieces_of(message, &pieces, NULL), SW_UNIMPLEMENTED);
    grpc_byte_buffer_destroy(message);
}
