/* Chunks: cut anywhere they are the same chunk, and protobuf-c sees the same in them.
 *
 *   cuts | size of each piece … | the message, of which the last piece is the rest */
#include <stdlib.h>
#include <string.h>

#include <stagewire/v1/stage.pb-c.h>

#include "proto/wire/chunk.h"
#include "proto/wire/tensors.h"
#include "tests/fuzz/common/fuzz.h"

enum { PIECES_MAX = 8 };

/* Each piece in memory of its own, so that AddressSanitizer sees a byte too far. */
static struct chunk_piece piece_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + (size == 0));
    HOLDS(copy);
    if (size > 0) memcpy(copy, data, size);
    return (struct chunk_piece){copy, size};
}

static size_t cut(const uint8_t **data, size_t *size, struct chunk_piece *pieces) {
    size_t cuts = **data % PIECES_MAX, count = 0;
    (*data)++, (*size)--;
    if (cuts > *size) cuts = *size;
    const uint8_t *sizes = *data;
    *data += cuts, *size -= cuts;
    const uint8_t *at = *data, *end = *data + *size;
    for (; count < cuts; count++) {
        size_t piece = sizes[count];
        if (piece > (size_t)(end - at)) piece = (size_t)(end - at);
        pieces[count] = piece_of(at, piece);
        at += piece;
    }
    pieces[count] = piece_of(at, (size_t)(end - at));
    return count + 1;
}

static void protobuf_c_agrees(const uint8_t *data, size_t size, const struct chunk_view *view,
                              const uint8_t *payload) {
    Stagewire__V1__StreamTensorsResponse *message =
        stagewire__v1__stream_tensors_response__unpack(NULL, size, data);
    HOLDS(message && message->part_case == STAGEWIRE__V1__STREAM_TENSORS_RESPONSE__PART_CHUNK);
    const Stagewire__V1__TensorChunk *chunk = message->chunk;
    HOLDS(chunk->tensor == view->header.tensor && chunk->block == view->header.block);
    HOLDS(chunk->xxh3 == view->header.xxh3 && chunk->data.len == view->header.size);
    HOLDS(view->header.size == 0 || memcmp(chunk->data.data, payload, chunk->data.len) == 0);
    stagewire__v1__stream_tensors_response__free_unpacked(message, NULL);
}

/* Written by us, it is read as what it was. */
static void goes_out_again(const struct chunk_view *view, const uint8_t *payload) {
    uint8_t header[CHUNK_HEADER_MAX];
    struct chunk_piece pieces[] = {{header, chunk_encode_header(&view->header, header)},
                                   {payload, view->header.size}};
    struct chunk_view again;
    enum chunk_part part;
    HOLDS(chunk_parse(pieces, 2, &part, &again, NULL) == SW_OK);
    HOLDS(part == CHUNK_CHUNK);
    HOLDS(again.header.tensor == view->header.tensor && again.header.block == view->header.block);
    HOLDS(again.header.xxh3 == view->header.xxh3 && again.header.size == view->header.size);
}

static void take(const uint8_t *data, size_t size, const struct chunk_piece *pieces, size_t count) {
    struct chunk_view view, whole_view;
    enum chunk_part part, whole_part;
    sw_error error = {0};
    const struct chunk_piece whole = {data, size};
    sw_status status = chunk_parse(pieces, count, &part, &view, &error);
    HOLDS(chunk_parse(&whole, 1, &whole_part, &whole_view, NULL) == status);
    if (status != SW_OK) {
        fuzz_refused(status, &error);
        return;
    }
    HOLDS(part == whole_part);
    if (part != CHUNK_CHUNK) return;
    HOLDS(view.header.size == whole_view.header.size && view.header.size <= size);
    uint8_t *payload = malloc(view.header.size + 1);
    HOLDS(payload);
    chunk_copy_payload(pieces, count, &view, payload, view.header.size);
    uint64_t hash;
    HOLDS(chunk_hash_payload(pieces, count, &view, &hash) && hash == block_hash(payload, view.header.size));
    protobuf_c_agrees(data, size, &view, payload);
    goes_out_again(&view, payload);
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct chunk_piece pieces[PIECES_MAX];
    if (size == 0) return 0;
    size_t count = cut(&data, &size, pieces);
    take(data, size, pieces, count);
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)pieces[i].data);
    return 0;
}
