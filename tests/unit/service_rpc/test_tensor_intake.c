/* Blocks on their way in: any order, each once, each where it belongs and what it was. */
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "service/rpc/tensor_intake.h"
#include "tests/support/test.h"

#define BLOCK 1024u

static uint8_t big[3 * BLOCK + 7], small[5];
static const int64_t big_shape[] = {sizeof big}, small_shape[] = {sizeof small}, no_shape[] = {0, 9};

static struct tensor_info infos[] = {
    {.name = "big", .dtype = SW_U8, .rank = 1, .shape = big_shape, .byte_length = sizeof big},
    {.name = "none", .dtype = SW_F32, .rank = 2, .shape = no_shape},
    {.name = "small", .dtype = SW_I8, .rank = 1, .shape = small_shape, .byte_length = sizeof small},
};
static struct manifest manifest = {.tensor_count = 3, .tensors = infos, .block_bytes = BLOCK};
static struct tensor_intake intake;
static sw_error error;

static void open_with(bool keep) {
    for (size_t i = 0; i < sizeof big; i++) big[i] = (uint8_t)(i * 7 + i / 256);
    memcpy(small, "small", sizeof small);
    memset(&error, 0, sizeof error);
    cr_assert_eq(tensor_intake_open(&intake, &manifest, keep, &error), SW_OK, "%s", error.message);
}
static void setup(void) {
    open_with(true);
}
static void teardown(void) {
    tensor_intake_close(&intake);
}
TestSuite(intake, .init = setup, .fini = teardown, .timeout = 30);

static int find_none(void *context, uint64_t token) {
    (void)context, (void)token;
    return -1;
}

static sw_status send(uint32_t tensor, uint64_t block, const void *data, size_t size, uint64_t xxh3) {
    uint8_t head[CHUNK_HEADER_MAX];
    struct chunk_header header = {.tensor = tensor, .block = block, .xxh3 = xxh3, .size = size};
    const struct chunk_piece pieces[2] = {{head, chunk_encode_header(&header, head)}, {data, size}};
    return tensor_intake_take(&intake, pieces, 2, find_none, NULL, &error);
}

static sw_status send_block(uint32_t tensor, uint64_t block, bool hashed) {
    const uint8_t *bytes = tensor == 0 ? big : small;
    size_t size = tensor_block_size(infos[tensor].byte_length, BLOCK, block);
    bytes += block * BLOCK;
    return send(tensor, block, bytes, size, hashed ? block_hash(bytes, size) : 0);
}

static void send_all(void) {
    cr_assert_eq(send_block(2, 0, false), SW_OK);
    for (int block = 3; block >= 0; block--) cr_assert_eq(send_block(0, (uint64_t)block, block % 2), SW_OK);
}

static void expect(sw_status status, sw_reason reason, const char *path) {
    cr_assert_eq(status, sw_reason_status(reason));
    cr_assert_eq(error.reason, reason);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), path);
}

Test(intake, blocks_in_any_order_make_the_tensors_whole) {
    struct digest digest;
    send_all();
    cr_assert_eq(tensor_intake_finish(&intake, &digest, &error), SW_OK, "%s", error.message);
    const struct tensor *tensors = intake.set->tensors;
    cr_assert_eq(memcmp(sw_buffer_data(tensors[0].bytes), big, sizeof big), 0);
    cr_assert_eq(memcmp(sw_buffer_data(tensors[2].bytes), small, sizeof small), 0);
    cr_assert_eq(tensors[0].block_hashes[3], block_hash(big + 3 * BLOCK, 7));
    cr_assert_eq(tensors[0].info.digest, tensor_digest(tensors[0].block_hashes, 4));
}

Test(intake, the_digest_of_blocks_that_are_dropped_is_that_of_blocks_that_are_kept) {
    struct digest kept, dropped;
    send_all();
    cr_assert_eq(tensor_intake_finish(&intake, &kept, &error), SW_OK);
    tensor_intake_close(&intake);
    open_with(false);
    send_all();
    cr_assert_eq(tensor_intake_finish(&intake, &dropped, &error), SW_OK);
    cr_assert(digest_equal(kept, dropped));
    cr_assert_null(intake.set->tensors[0].bytes);
}

Test(intake, a_block_that_came_twice_is_refused) {
    cr_assert_eq(send_block(0, 1, false), SW_OK);
    expect(send_block(0, 1, false), SW_REASON_MALFORMED, "chunk.block");
    cr_assert_not_null(strstr(error.message, "block 1 of tensor \"big\" came twice"));
}

Test(intake, a_block_of_no_tensor_or_beyond_one_is_refused) {
    expect(send(3, 0, small, sizeof small, 0), SW_REASON_MALFORMED, "chunk.tensor");
    expect(send(0, 4, small, sizeof small, 0), SW_REASON_MALFORMED, "chunk.block");
    expect(send(0, UINT64_MAX, small, sizeof small, 0), SW_REASON_MALFORMED, "chunk.block");
    expect(send(1, 0, small, 0, 0), SW_REASON_MALFORMED, "chunk.block");
}

Test(intake, a_block_of_the_wrong_size_is_refused) {
    expect(send(0, 0, big, BLOCK - 1, 0), SW_REASON_MALFORMED, "chunk.data");
    expect(send(0, 3, big, BLOCK, 0), SW_REASON_MALFORMED, "chunk.data");
    expect(send(2, 0, big, 0, 0), SW_REASON_MALFORMED, "chunk.data");
}

Test(intake, a_flipped_bit_is_a_wrong_checksum) {
    uint64_t hash = block_hash(big, BLOCK);
    big[500] ^= 1;
    expect(send(0, 0, big, BLOCK, hash), SW_REASON_CHECKSUM, "chunk.xxh3");
}

Test(intake, missing_blocks_are_named) {
    struct digest digest;
    cr_assert_eq(send_block(0, 0, false), SW_OK);
    cr_assert_eq(send_block(0, 2, false), SW_OK);
    expect(tensor_intake_finish(&intake, &digest, &error), SW_REASON_MALFORMED, "manifest.tensors[0]");
    cr_assert_not_null(strstr(error.message, "3 blocks missing; the first is block 1 of tensor \"big\""));
    cr_assert_eq(send_block(0, 1, false), SW_OK);
    cr_assert_eq(send_block(0, 3, false), SW_OK);
    expect(tensor_intake_finish(&intake, &digest, &error), SW_REASON_MALFORMED, "manifest.tensors[2]");
    cr_assert_not_null(strstr(error.message, "block 0 of tensor \"small\""));
}

Test(intake, a_digest_of_the_manifest_must_be_that_of_the_blocks) {
    struct digest digest;
    send_all();
    uint64_t hashes[4];
    for (uint64_t i = 0; i < 4; i++)
        hashes[i] = block_hash(big + i * BLOCK, tensor_block_size(sizeof big, BLOCK, i));
    infos[0].digest = tensor_digest(hashes, 4);
    cr_assert_eq(tensor_intake_finish(&intake, &digest, &error), SW_OK, "%s", error.message);
    infos[0].digest ^= 1;
    expect(tensor_intake_finish(&intake, &digest, &error), SW_REASON_CHECKSUM, "manifest.tensors[0].digest");
    infos[0].digest = 0;
}

Test(intake, a_message_that_is_no_chunk_is_refused) {
    sw_buffer *again;
    cr_assert_eq(manifest_encode(&manifest, &again, NULL), SW_OK);
    const struct chunk_piece piece = {sw_buffer_data(again), sw_buffer_size(again)};
    expect(tensor_intake_take(&intake, &piece, 1, find_none, NULL, &error), SW_REASON_MALFORMED, "part");
    sw_buffer_unref(again);
}

Test(intake, an_item_without_tensors_is_whole_at_once) {
    struct manifest empty = {.block_bytes = BLOCK};
    struct tensor_intake nothing;
    struct digest digest;
    cr_assert_eq(tensor_intake_open(&nothing, &empty, true, &error), SW_OK);
    cr_assert_eq(tensor_intake_finish(&nothing, &digest, &error), SW_OK);
    tensor_intake_close(&nothing);
}
