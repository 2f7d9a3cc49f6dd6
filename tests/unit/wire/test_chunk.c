#include <stagewire/v1/stage.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/chunk.h"
#include "proto/wire/tensors.h"
#include "tests/support/test.h"

/* ---- writing ---- */

static void compare_with_protobuf_c(struct chunk_header header, const uint8_t *payload) {
    Stagewire__V1__TensorChunk chunk = STAGEWIRE__V1__TENSOR_CHUNK__INIT;
    chunk.tensor = header.tensor, chunk.block = header.block, chunk.xxh3 = header.xxh3;
    chunk.data = (ProtobufCBinaryData){header.size, (uint8_t *)payload};
    Stagewire__V1__StreamTensorsResponse response = STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__INIT;
    response.part_case = STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__PART_CHUNK;
    response.chunk = &chunk;
    size_t size = stagewire__v1__stream_tensors_response__get_packed_size(&response);
    uint8_t *expected = malloc(size), *actual = malloc(CHUNK_HEADER_MAX + header.size);
    stagewire__v1__stream_tensors_response__pack(&response, expected);
    size_t head = chunk_encode_header(&header, actual);
    cr_assert_leq(head, CHUNK_HEADER_MAX);
    if (header.size > 0) memcpy(actual + head, payload, header.size);
    cr_assert_eq(head + header.size, size);
    cr_assert_eq(memcmp(actual, expected, size), 0);
    free(expected);
    free(actual);
}

Test(chunk, its_header_is_what_protobuf_c_writes) {
    static const uint32_t tensors[] = {0, 1, 127, 128, 20000, UINT32_MAX};
    static const uint64_t blocks[] = {0, 1, 300, UINT64_C(1) << 35, UINT64_MAX};
    static const uint64_t hashes[] = {0, 1, UINT64_C(0x0123456789abcdef), UINT64_MAX};
    static const uint64_t sizes[] = {0, 1, 127, 128, 16383, 16384};
    uint8_t *payload = calloc(1, 2097152);
    for (size_t t = 0; t < 6; t++)
        for (size_t b = 0; b < 5; b++)
            for (size_t h = 0; h < 4; h++)
                for (size_t s = 0; s < 6; s++)
                    compare_with_protobuf_c((struct chunk_header){tensors[t], blocks[b], hashes[h], sizes[s]},
                                            payload);
    compare_with_protobuf_c((struct chunk_header){7, 8, 9, 524288}, payload);
    compare_with_protobuf_c((struct chunk_header){UINT32_MAX, UINT64_MAX, UINT64_MAX, 2097152}, payload);
    free(payload);
}

/* ---- taking apart ---- */

/* Fields of all wire types that nobody knows, then block, data, tensor and xxh3. */
static const uint8_t shuffled[] = {
    0x78, 0x05,                                           /* message: 15, varint */
    0x12, 0x2c,                                           /* chunk */
    0x78, 0x96, 0x01,                                     /* 15, varint */
    0x10, 0xac, 0x02,                                     /* block = 300 */
    0x82, 0x01, 0x03, 'x',  'y',  'z',                    /* 16, bytes */
    0x22, 0x05, 'b',  'y',  't',  'e',  's',              /* data */
    0x79, 1,    2,    3,    4,    5,    6,    7,    8,    /* 15, fixed64 */
    0x7d, 1,    2,    3,    4,                            /* 15, fixed32 */
    0x08, 0x07,                                           /* tensor = 7 */
    0x19, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, /* xxh3 */
    0x7a, 0x02, 'a',  'b',                                /* message: 15, bytes */
};

static void expect_shuffled(const struct chunk_piece *pieces, size_t count) {
    enum chunk_part part = CHUNK_OTHER;
    struct chunk_view view;
    sw_error error;
    cr_assert_eq(chunk_parse(pieces, count, &part, &view, &error), SW_OK);
    cr_assert_eq(part, CHUNK_CHUNK);
    cr_assert_eq(view.header.tensor, 7);
    cr_assert_eq(view.header.block, 300);
    cr_assert_eq(view.header.xxh3, UINT64_C(0x0123456789abcdef));
    cr_assert_eq(view.header.size, 5);
    char payload[6] = "";
    chunk_copy_payload(pieces, count, &view, payload, view.header.size);
    cr_assert_str_eq(payload, "bytes");
}

/* Pieces of exact size on the heap, so that AddressSanitizer sees a byte too far. */
static struct chunk_piece piece_of(size_t from, size_t to) {
    uint8_t *copy = malloc(to - from ? to - from : 1);
    memcpy(copy, shuffled + from, to - from);
    return (struct chunk_piece){copy, to - from};
}

static void put_back(struct chunk_piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++) free((void *)pieces[i].data);
}

Test(chunk, a_message_may_be_cut_anywhere_into_two_pieces) {
    for (size_t cut = 0; cut <= sizeof shuffled; cut++) {
        struct chunk_piece pieces[] = {piece_of(0, cut), piece_of(cut, sizeof shuffled)};
        expect_shuffled(pieces, 2);
        put_back(pieces, 2);
    }
}

Test(chunk, a_message_may_be_cut_anywhere_into_three_pieces) {
    for (size_t first = 0; first <= sizeof shuffled; first++) {
        for (size_t second = first; second <= sizeof shuffled; second++) {
            struct chunk_piece pieces[] = {piece_of(0, first), piece_of(first, second),
                                           piece_of(second, sizeof shuffled)};
            expect_shuffled(pieces, 3);
            put_back(pieces, 3);
        }
    }
}

Test(chunk, a_message_may_come_byte_by_byte) {
    struct chunk_piece pieces[sizeof shuffled];
    for (size_t i = 0; i < sizeof shuffled; i++) pieces[i] = piece_of(i, i + 1);
    expect_shuffled(pieces, sizeof shuffled);
    put_back(pieces, sizeof shuffled);
}

static sw_status parse(const uint8_t *data, size_t size, enum chunk_part *part, struct chunk_view *view,
                       sw_error *error) {
    uint8_t *copy = malloc(size ? size : 1);
    if (size > 0) memcpy(copy, data, size);
    struct chunk_piece piece = {copy, size};
    sw_status status = chunk_parse(&piece, 1, part, view, error);
    free(copy);
    return status;
}

Test(chunk, a_message_that_ends_too_early_is_malformed) {
    /* Without the unknown field at its start and end, any cut hits the chunk. */
    for (size_t size = 3; size < sizeof shuffled - 4; size++) {
        enum chunk_part part;
        struct chunk_view view;
        sw_error error;
        cr_assert_eq(parse(shuffled + 2, size - 2, &part, &view, &error), SW_INVALID_ARGUMENT, "%zu", size);
        cr_assert_eq(error.reason, SW_REASON_MALFORMED);
        cr_assert_not_null(sw_error_metadata(&error, "path"));
    }
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void expect_malformed(const char *path, const uint8_t *data, size_t size) {
    enum chunk_part part = (enum chunk_part)9;
    struct chunk_view view = {.payload_offset = 77};
    sw_error error;
    cr_assert_eq(parse(data, size, &part, &view, &error), SW_INVALID_ARGUMENT, "%s", path);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
    cr_assert_eq((int)part, 9, "written only on success");
    cr_assert_eq(view.payload_offset, 77);
}

Test(chunk, what_is_no_chunk_is_malformed_and_says_where) {
    expect_malformed("part", BYTES(0x12));
    expect_malformed("part", BYTES(0x00, 0x00));
    expect_malformed("part", BYTES(0x10, 0x00));
    expect_malformed("part", BYTES(0x13, 0x14));
    expect_malformed("part", BYTES(0x12, 0x00, 0x12, 0x00));
    expect_malformed("part", BYTES(0x0a, 0x00, 0x12, 0x00));
    expect_malformed("part", BYTES(0x12, 0x00, 0x1a, 0x00));
    expect_malformed("part", BYTES(0x12, 0x05, 0x08, 0x01));
    expect_malformed("chunk", BYTES(0x12, 0x01, 0x08));
    expect_malformed("chunk", BYTES(0x12, 0x02, 0x22, 0x01, 0x00));
    expect_malformed("chunk", BYTES(0x12, 0x02, 0x07, 0x01));
    expect_malformed("shared", BYTES(0x1a, 0x01, 0x08));
    expect_malformed("shared.tensor", BYTES(0x1a, 0x06, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10));
    expect_malformed("shared.token", BYTES(0x1a, 0x02, 0x20, 0x01));
    expect_malformed("shared.offset", BYTES(0x1a, 0x02, 0x2a, 0x00));
    expect_malformed("chunk.tensor", BYTES(0x12, 0x02, 0x0a, 0x00));
    expect_malformed("chunk.tensor", BYTES(0x12, 0x06, 0x08, 0x80, 0x80, 0x80, 0x80, 0x10));
    expect_malformed("chunk.block", BYTES(0x12, 0x05, 0x15, 0, 0, 0, 0));
    expect_malformed("chunk.xxh3", BYTES(0x12, 0x02, 0x18, 0x01));
    expect_malformed("chunk.data", BYTES(0x12, 0x02, 0x20, 0x01));
    expect_malformed("part", BYTES(0x92, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00));
    expect_malformed("part", BYTES(0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00));
    expect_malformed("chunk",
                     BYTES(0x12, 0x0b, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02));
}

Test(chunk, a_message_with_something_else_is_left_to_others) {
    const struct {
        const uint8_t *data;
        size_t size;
    } others[] = {{BYTES(0x0a, 0x00)}, {NULL, 0}, {BYTES(0x78, 0x01)}};
    for (size_t i = 0; i < 3; i++) {
        enum chunk_part part = CHUNK_CHUNK;
        struct chunk_view view = {.payload_offset = 77};
        cr_assert_eq(parse(others[i].data, others[i].size, &part, &view, NULL), SW_OK);
        cr_assert_eq(part, CHUNK_OTHER);
        cr_assert_eq(view.payload_offset, 77);
    }
    enum chunk_part part;
    struct chunk_view view;
    cr_assert_eq(chunk_parse(NULL, 0, &part, &view, NULL), SW_OK);
}

Test(chunk, of_a_field_given_twice_the_last_counts) {
    enum chunk_part part;
    struct chunk_view view;
    static const uint8_t data[] = {0x12, 0x0a, 0x08, 0x01, 0x22, 0x01, 'a', 0x08, 0x02, 0x22, 0x01, 'b'};
    cr_assert_eq(parse(data, sizeof data, &part, &view, NULL), SW_OK);
    cr_assert_eq(view.header.tensor, 2);
    cr_assert_eq(view.header.size, 1);
    cr_assert_eq(view.payload_offset, sizeof data - 1);
}

Test(chunk, garbage_is_refused_or_understood_within_its_bounds) {
    srand(20);
    for (int round = 0; round < 200000 / TEST_LESS; round++) {
        uint8_t data[sizeof shuffled];
        size_t size = (size_t)rand() % sizeof data + 1;
        memcpy(data, shuffled, sizeof data);
        for (int flips = rand() % 6; flips >= 0; flips--) data[(size_t)rand() % size] = (uint8_t)rand();
        enum chunk_part part;
        struct chunk_view view;
        size_t cut = (size_t)rand() % size;
        struct chunk_piece pieces[] = {{data, cut}, {data + cut, size - cut}};
        if (chunk_parse(pieces, 2, &part, &view, NULL) != SW_OK || part != CHUNK_CHUNK) continue;
        cr_assert_leq(view.payload_offset + view.header.size, size);
        uint8_t payload[sizeof data];
        chunk_copy_payload(pieces, 2, &view, payload, view.header.size);
        cr_assert_eq(memcmp(payload, data + view.payload_offset, view.header.size), 0);
    }
}

Test(chunk, its_payload_is_hashed_as_a_whole_however_it_is_cut) {
    const struct chunk_header header = {.size = 300};
    uint8_t message[CHUNK_HEADER_MAX + 300];
    size_t head = chunk_encode_header(&header, message), size = head + header.size;
    for (size_t i = head; i < size; i++) message[i] = (uint8_t)(i * 7);
    for (size_t cut = 0; cut <= size; cut++) {
        enum chunk_part part;
        struct chunk_view view;
        const struct chunk_piece pieces[] = {{message, cut}, {message + cut, size - cut}};
        uint64_t hash;
        cr_assert_eq(chunk_parse(pieces, 2, &part, &view, NULL), SW_OK);
        cr_assert(chunk_hash_payload(pieces, 2, &view, &hash));
        cr_assert_eq(hash, block_hash(message + head, header.size));
    }
}

Test(chunk, a_run_in_shared_memory_is_read_as_it_was_written) {
    const struct shared_run runs[] = {
        {0},
        {.tensor = 3, .first_block = 32, .byte_length = 16 << 20, .token = 7, .offset = 4096},
        {UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        uint8_t data[SHARED_RUN_MAX];
        enum chunk_part part;
        struct chunk_view view;
        size_t size = shared_run_encode(&runs[i], data);
        cr_assert_leq(size, sizeof data);
        cr_assert_eq(parse(data, size, &part, &view, NULL), SW_OK);
        cr_assert_eq(part, CHUNK_SHARED);
        cr_assert_eq(view.shared.tensor, runs[i].tensor);
        cr_assert_eq(view.shared.first_block, runs[i].first_block);
        cr_assert_eq(view.shared.byte_length, runs[i].byte_length);
        cr_assert_eq(view.shared.token, runs[i].token);
        cr_assert_eq(view.shared.offset, runs[i].offset);
    }
}
