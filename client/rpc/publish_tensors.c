#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/rpc/publisher.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/device/shared.h"
#include "proto/transport/slices.h"
#include "proto/wire/chunk.h"

struct tensors_publish {
    struct sw_call call;
    const sw_named_tensor *tensors; /* the caller's, who waits */
    uint32_t count;
    sw_buffer *manifest;
    bool duplicate;

    /* Of this attempt: the next block, and the buffer that it lies in. */
    uint32_t tensor;
    uint64_t block;
    grpc_slice bytes;
    uint64_t token; /* under which the tensor's memory was handed over; 0: chunks */
    uint64_t start; /* of the tensor in that memory */

    uint64_t given[LIMIT_HANDED_OVER]; /* tokens of this attempt */
    uint32_t given_count;
    bool by_chunks; /* the endpoint did not find what was handed over */
};

static struct tensors_publish *publish_of(struct sw_call *call) {
    return container_of(call, struct tensors_publish, call);
}

static size_t size_of(const sw_named_tensor *tensor) {
    return tensor->buffer ? sw_buffer_size(tensor->buffer) : tensor->view.size;
}

static const void *data_of(const sw_named_tensor *tensor) {
    return tensor->buffer ? sw_buffer_data(tensor->buffer) : tensor->view.data;
}

/* ---- what is to be published, checked before anything is sent ---- */

static sw_status bad_tensor(size_t index, const char *field, const char *what, sw_error *error) {
    char path[48];
    snprintf(path, sizeof path, "tensors[%zu]%s", index, field);
    sw_status status = error_set(error, SW_REASON_MALFORMED, "%s %s", path, what);
    error_add(error, "path", path);
    return status;
}

static sw_status check_tensor(const sw_named_tensor *tensor, size_t index, sw_error *error) {
    uint64_t bytes;
    char what[120];
    if (!tensor->name || !tensor->name[0]) return bad_tensor(index, ".name", "is empty; name it", error);
    if (!sw_tensor_bytes(tensor->view.dtype, tensor->view.rank, tensor->view.shape, &bytes))
        return bad_tensor(index, ".shape",
                          "or the dtype is not one that a tensor can have: rank 0 to 16, dimensions from 0",
                          error);
    if (bytes != size_of(tensor)) {
        snprintf(what, sizeof what, "has %zu bytes, and its shape and dtype need %" PRIu64, size_of(tensor),
                 bytes);
        return bad_tensor(index, ".data", what, error);
    }
    if (bytes > 0 && !data_of(tensor)) return bad_tensor(index, ".data", "is NULL", error);
    return SW_OK;
}

static sw_status too_large(const char *what, sw_error *error) {
    return error_set(error, SW_REASON_TOO_LARGE, "%s; publish the tensors in several channels", what);
}

static struct tensor_info info_of(const sw_named_tensor *tensor) {
    return (struct tensor_info){.name = tensor->name,
                                .dtype = tensor->view.dtype,
                                .rank = tensor->view.rank,
                                .shape = tensor->view.shape,
                                .byte_length = size_of(tensor)};
}

/* Digests stay 0: the blocks are hashed as they are sent, so that memory is read once. */
static sw_status make_manifest(struct tensors_publish *publish, sw_error *error) {
    struct tensor_info *infos = calloc(publish->count ? publish->count : 1, sizeof *infos);
    if (!infos) return error_no_memory(error);
    for (uint32_t i = 0; i < publish->count; i++) infos[i] = info_of(&publish->tensors[i]);
    struct manifest manifest = {.address = publish->call.address,
                                .tensor_count = publish->count,
                                .tensors = infos,
                                .block_bytes = LIMIT_BLOCK_BYTES};
    sw_status status = manifest_encode(&manifest, &publish->manifest, error);
    free(infos);
    if (status == SW_OK && sw_buffer_size(publish->manifest) > SW_MESSAGE_MAX)
        status = too_large("names and shapes of all tensors take more than a message of 4 MiB", error);
    return status;
}

/* From here on nobody changes it. What can't be sealed goes as chunks. */
static void seal_memory(const struct tensors_publish *publish) {
    if (!hand_over_is_offered(&publish->call.client->hand_over)) return;
    for (uint32_t i = 0; i < publish->count; i++) {
        if (publish->tensors[i].buffer) shared_seal(publish->tensors[i].buffer);
    }
}

static sw_status prepare(struct tensors_publish *publish, sw_error *error) {
    for (uint32_t i = 0; i < publish->count; i++) {
        sw_status status = check_tensor(&publish->tensors[i], i, error);
        if (status != SW_OK) return status;
    }
    seal_memory(publish);
    return make_manifest(publish, error);
}

/* ---- memory that is handed over ---- */

static void take_memory_back(struct tensors_publish *publish) {
    while (publish->given_count > 0)
        hand_over_take_back(&publish->call.client->hand_over, publish->given[--publish->given_count]);
}

/* The tensor that is next; tells where in the memory it begins. */
static bool may_hand_over(const struct tensors_publish *publish, int *ret_fd, uint64_t *ret_start) {
    const sw_buffer *buffer = publish->tensors[publish->tensor].buffer;
    return buffer && !publish->by_chunks && publish->given_count < LIMIT_HANDED_OVER &&
           sw_buffer_size(buffer) >= LIMIT_SHARED_FROM && shared_memory_of(buffer, ret_fd, ret_start);
}

static void hand_over(struct tensors_publish *publish) {
    int fd;
    publish->token = 0;
    if (!may_hand_over(publish, &fd, &publish->start)) return;
    publish->token = hand_over_give(&publish->call.client->hand_over, fd);
    if (publish->token != 0) publish->given[publish->given_count++] = publish->token;
}

/* ---- an attempt ---- */

static void drop_bytes(struct tensors_publish *publish) {
    grpc_slice_unref(publish->bytes);
    publish->bytes = grpc_empty_slice();
}

static uint64_t blocks_of(const sw_named_tensor *tensor) {
    return tensor_blocks(size_of(tensor), LIMIT_BLOCK_BYTES);
}

/* Moves on to the next block that there is; false at the end. */
static bool find_block(struct tensors_publish *publish) {
    while (publish->tensor < publish->count) {
        if (publish->block < blocks_of(&publish->tensors[publish->tensor])) return true;
        publish->tensor++;
        publish->block = 0;
        drop_bytes(publish);
    }
    return false;
}

static sw_status publish_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                 bool *ret_more, sw_error *error) {
    (void)left_ms;
    (void)error;
    struct tensors_publish *publish = publish_of(call);
    drop_bytes(publish);
    take_memory_back(publish);
    publish->tensor = 0;
    publish->block = 0;
    *ret_request = sw_buffer_ref(publish->manifest);
    *ret_more = find_block(publish);
    return SW_OK;
}

/* By reference if it was handed over so; else a copy, since gRPC may hold it longer than the caller waits. */
static grpc_slice block_slice(struct tensors_publish *publish, size_t offset, size_t size) {
    const sw_named_tensor *tensor = &publish->tensors[publish->tensor];
    if (!tensor->buffer) return grpc_slice_from_copied_buffer((const char *)data_of(tensor) + offset, size);
    if (GRPC_SLICE_IS_EMPTY(publish->bytes)) publish->bytes = slice_of_buffer(tensor->buffer);
    return grpc_slice_sub(publish->bytes, offset, offset + size);
}

static grpc_byte_buffer *next_chunk(struct tensors_publish *publish, const sw_named_tensor *tensor) {
    size_t size = tensor_block_size(size_of(tensor), LIMIT_BLOCK_BYTES, publish->block);
    grpc_slice slice = block_slice(publish, publish->block * LIMIT_BLOCK_BYTES, size);
    struct chunk_header header = {.tensor = publish->tensor,
                                  .block = publish->block,
                                  .xxh3 = block_hash(GRPC_SLICE_START_PTR(slice), size),
                                  .size = size};
    uint8_t head[CHUNK_HEADER_MAX];
    size_t head_size = chunk_encode_header(&header, head);
    publish->block++;
    return message_of_parts(head, head_size, slice);
}

static grpc_byte_buffer *next_run(struct tensors_publish *publish, const sw_named_tensor *tensor) {
    uint64_t offset = publish->block * LIMIT_BLOCK_BYTES, left = size_of(tensor) - offset;
    struct shared_run run = {.tensor = publish->tensor,
                             .first_block = publish->block,
                             .byte_length = left < LIMIT_SHARED_RUN ? left : LIMIT_SHARED_RUN,
                             .token = publish->token,
                             .offset = publish->start + offset};
    uint8_t bytes[SHARED_RUN_MAX];
    publish->block += tensor_blocks(run.byte_length, LIMIT_BLOCK_BYTES);
    return message_of_parts(bytes, shared_run_encode(&run, bytes), grpc_empty_slice());
}

static void publish_written(struct sw_call *call) {
    struct tensors_publish *publish = publish_of(call);
    if (!find_block(publish)) return;
    const sw_named_tensor *tensor = &publish->tensors[publish->tensor];
    if (publish->block == 0) hand_over(publish);
    grpc_byte_buffer *message = publish->token != 0 ? next_run(publish, tensor) : next_chunk(publish, tensor);
    bool is_last = !find_block(publish);
    attempt_write(&call->attempt, message, is_last);
}

/* The memory did not get there, or not in time: it is sent instead. */
static enum call_next publish_settle(struct sw_call *call, sw_error *error) {
    struct tensors_publish *publish = publish_of(call);
    const char *limit = error->reason == SW_REASON_LIMIT ? sw_error_metadata(error, "limit") : NULL;
    if (publish->by_chunks || !limit || strcmp(limit, "hand-over") != 0) return CALL_AS_USUAL;
    publish->by_chunks = true;
    return CALL_GO_ON;
}

static sw_status publish_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    return publish_answer(call, message, &publish_of(call)->duplicate, error);
}

static void tensors_done(struct sw_call *call, const sw_error *error) {
    drop_bytes(publish_of(call));
    take_memory_back(publish_of(call));
    publish_done(call, error);
}

static void publish_destroy(struct sw_call *call) {
    sw_buffer_unref(publish_of(call)->manifest);
    call_fini(call);
    free(publish_of(call));
}

static const struct call_ops tensors_ops = {
    .method = "/stagewire.v1.PublisherService/PublishTensors",
    .publishes = true,
    .request = publish_request,
    .message = publish_message,
    .written = publish_written,
    .settle = publish_settle,
    .done = tensors_done,
    .destroy = publish_destroy,
};

sw_status publish_tensors_call(sw_publisher *publisher, const sw_address *address,
                               const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                               bool *ret_duplicate, sw_error *error) {
    if (count > LIMIT_ITEM_TENSORS) return too_large("an item has at most 20000 tensors", error);
    struct tensors_publish *publish = calloc(1, sizeof *publish);
    if (!publish) return error_no_memory(error);
    publish->tensors = tensors;
    publish->count = (uint32_t)count;
    publish->bytes = grpc_empty_slice();
    const sw_address sent = address_to_send(publisher, address);
    sw_status status = call_init(&publish->call, &tensors_ops, client_of_publisher(publisher), &sent,
                                 SW_TENSORS, timeout_ms, error);
    if (status != SW_OK) {
        free(publish);
        return status;
    }
    status = prepare(publish, error);
    if (status == SW_OK) status = call_run(&publish->call, error);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = publish->duplicate;
    sw_call_destroy(&publish->call);
    return status;
}
