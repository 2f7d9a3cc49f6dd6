/* StreamTensors: the manifest, then the blocks that were asked for, each straight from the tensor's memory.
 */
#include <string.h>

#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "service/rpc/methods.h"
#include "service/rpc/pulling.h"

/* Where the stream is: the next block to send. */
struct cursor {
    uint32_t range;  /* of the request; or, where it names none, the tensor */
    uint32_t tensor; /* of the item */
    uint64_t block, end;
    grpc_slice bytes; /* of the tensor */
    bool is_open;
};

struct state {
    struct pulling pulling;
    const struct tensor_set *set;
    struct cursor cursor;
};

static void close_tensor(struct cursor *cursor) {
    if (cursor->is_open) grpc_slice_unref(cursor->bytes);
    cursor->is_open = false;
}

/* The store has checked names and blocks. */
static void open_range(const struct state *state, struct cursor *cursor) {
    const struct pull_request *request = &state->pulling.request;
    const struct tensor_range *range = request->range_count > 0 ? &request->ranges[cursor->range] : NULL;
    cursor->tensor =
        range ? (uint32_t)tensor_set_find(state->set, range->name, strlen(range->name)) : cursor->range;
    const struct tensor *tensor = &state->set->tensors[cursor->tensor];
    uint64_t blocks = tensor_blocks(tensor->info.byte_length, state->set->block_bytes);
    cursor->block = range ? range->first_block : 0;
    cursor->end = range && range->block_count > 0 ? range->first_block + range->block_count : blocks;
    cursor->bytes = slice_of_buffer(tensor->bytes);
    cursor->is_open = true;
}

/* Moves to the next block there is; false at the end. Tensors without bytes have none. */
static bool find_block(const struct state *state, struct cursor *cursor) {
    const struct pull_request *request = &state->pulling.request;
    uint32_t ranges = request->range_count > 0 ? request->range_count : state->set->count;
    if (request->manifest_only) return false;
    while (cursor->range < ranges) {
        if (!cursor->is_open) open_range(state, cursor);
        if (cursor->block < cursor->end) return true;
        close_tensor(cursor);
        cursor->range++;
    }
    return false;
}

static grpc_byte_buffer *next_chunk(const struct state *state, struct cursor *cursor) {
    const struct tensor *tensor = &state->set->tensors[cursor->tensor];
    uint32_t block_bytes = state->set->block_bytes;
    struct chunk_header header = {
        .tensor = cursor->tensor,
        .block = cursor->block,
        .xxh3 = tensor->block_hashes[cursor->block],
        .size = tensor_block_size(tensor->info.byte_length, block_bytes, cursor->block),
    };
    uint8_t head[CHUNK_HEADER_MAX];
    size_t head_size = chunk_encode_header(&header, head);
    size_t offset = cursor->block * block_bytes;
    cursor->block++;
    return message_of_parts(head, head_size, grpc_slice_sub(cursor->bytes, offset, offset + header.size));
}

/* The last message takes the status along. */
static void send(struct call *call, grpc_byte_buffer *message) {
    struct state *state = call->state;
    if (find_block(state, &state->cursor)) {
        call_write(call, message);
    } else {
        call_reply(call, message);
    }
}

static void sent(struct call *call) {
    struct state *state = call->state;
    send(call, next_chunk(state, &state->cursor));
}

static sw_status encode_manifest(struct call *call, const struct store_item *item, sw_buffer **ret,
                                 sw_error *error) {
    const struct tensor_set *set = item->tensors;
    struct tensor_info *infos = arena_get(&call->arena, set->count * sizeof *infos);
    if (!infos) {
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_LIMIT,
                              "no memory for a manifest; try again later");
    }
    for (uint32_t i = 0; i < set->count; i++) infos[i] = set->tensors[i].info;
    struct manifest manifest = {.address = item->address,
                                .tensor_count = set->count,
                                .tensors = infos,
                                .block_bytes = set->block_bytes,
                                .published_unix_ns = item->published_unix_ns,
                                .pin = item->pin};
    return manifest_encode(&manifest, ret, error);
}

static void answer(struct call *call, const struct store_item *item) {
    struct state *state = call->state;
    sw_buffer *manifest;
    sw_error error;
    state->set = item->tensors;
    if (encode_manifest(call, item, &manifest, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    send(call, message_of_buffer(manifest));
    sw_buffer_unref(manifest);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    sw_error error;
    if (stream_tensors_request_decode(data, size, &call->arena, &state->pulling.request, &error) != SW_OK) {
        call_fail(call, &error);
    } else {
        pulling_start(call, &state->pulling, SW_TENSORS, answer);
    }
}

static void woken(struct call *call) {
    struct state *state = call->state;
    pulling_woken(&state->pulling);
}

static void end(struct call *call) {
    struct state *state = call->state;
    close_tensor(&state->cursor);
    pulling_end(&state->pulling);
}

const struct method stream_tensors = {
    .path = STAGE_SERVICE "StreamTensors",
    .state_size = sizeof(struct state),
    .begin = begin,
    .sent = sent,
    .woken = woken,
    .end = end,
};
