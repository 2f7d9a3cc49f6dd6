/* StreamTensors: the manifest, then the blocks that were asked for, each straight from the tensor's memory.
 */
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/device/shared.h"
#include "proto/transport/slices.h"
#include "service/rpc/hand_over.h"
#include "service/rpc/methods.h"
#include "service/rpc/pulling.h"
#include "service/rpc/server.h"

/* Where the stream is: the next block to send. */
struct cursor {
    uint32_t range;  /* of the request; or, where it names none, the tensor */
    uint32_t tensor; /* of the item */
    uint64_t block, end;
    grpc_slice bytes; /* of the tensor */
    bool is_open;
    uint64_t bytes_sent; /* of all tensors */
    uint64_t token;      /* of the tensor's memory, where that was handed over; 0: chunks */
    uint64_t start;      /* of the tensor in that memory */
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

static uint64_t bytes_left(const struct state *state, const struct cursor *cursor) {
    uint64_t length = state->set->tensors[cursor->tensor].info.byte_length;
    uint64_t from = cursor->block * state->set->block_bytes, to = cursor->end * state->set->block_bytes;
    return (to < length ? to : length) - from;
}

/* Only large memory that nobody can change, as a whole, and only to one who is reached over a hand-over
 * socket. */
static void hand_over(const struct call *call, struct cursor *cursor) {
    const struct state *state = call->state;
    struct hand_over *all = call->server->all->hand_over;
    sw_buffer *buffer = state->set->tensors[cursor->tensor].bytes;
    uint64_t size = bytes_left(state, cursor), name = state->pulling.request.hand_over;
    int fd;
    cursor->token = 0;
    if (!all || name == 0 || size < LIMIT_SHARED_FROM) return;
    if (state->pulling.request.byte_limit > 0) return;
    if (!shared_seal(buffer) || !shared_memory_of(buffer, &fd, &cursor->start)) return;
    cursor->token = hand_over_to(all, name, fd);
    if (cursor->token == 0) return;
    hand_over_counts(all)->tensors_out++;
    hand_over_counts(all)->bytes_out += size;
}

/* The store has checked names and blocks. */
static void open_range(const struct call *call, struct cursor *cursor) {
    const struct state *state = call->state;
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
    hand_over(call, cursor);
}

/* Moves to the next block there is; false at the end. Tensors without bytes have none. */
static bool find_block(const struct call *call, struct cursor *cursor) {
    const struct state *state = call->state;
    const struct pull_request *request = &state->pulling.request;
    uint32_t ranges = request->range_count > 0 ? request->range_count : state->set->count;
    if (request->manifest_only) return false;
    if (request->byte_limit > 0 && cursor->bytes_sent >= request->byte_limit) return false;
    while (cursor->range < ranges) {
        if (!cursor->is_open) open_range(call, cursor);
        if (cursor->block < cursor->end) return true;
        close_tensor(cursor);
        cursor->range++;
    }
    return false;
}

static grpc_byte_buffer *next_run(const struct state *state, struct cursor *cursor) {
    uint32_t block_bytes = state->set->block_bytes;
    uint64_t left = bytes_left(state, cursor), most = LIMIT_SHARED_RUN / block_bytes * block_bytes;
    struct shared_run run = {
        .tensor = cursor->tensor,
        .first_block = cursor->block,
        .byte_length = left < most ? left : most,
        .token = cursor->token,
        .offset = cursor->start + cursor->block * block_bytes,
    };
    uint8_t bytes[SHARED_RUN_MAX];
    cursor->block += tensor_blocks(run.byte_length, block_bytes);
    return message_of_parts(bytes, shared_run_encode(&run, bytes), grpc_empty_slice());
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
    cursor->bytes_sent += header.size;
    return message_of_parts(head, head_size, grpc_slice_sub(cursor->bytes, offset, offset + header.size));
}

/* The last message takes the status along. */
static void send(struct call *call, grpc_byte_buffer *message) {
    struct state *state = call->state;
    if (find_block(call, &state->cursor)) {
        call_write(call, message);
    } else {
        call_reply(call, message);
    }
}

static void sent(struct call *call) {
    struct state *state = call->state;
    struct cursor *cursor = &state->cursor;
    send(call, cursor->token ? next_run(state, cursor) : next_chunk(state, cursor));
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
