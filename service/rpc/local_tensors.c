#include "service/rpc/local_tensors.h"

#include <stdlib.h>

#include "proto/base/copy.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/device/device.h"
#include "service/rpc/local_publish.h"
#include "service/rpc/manifest_size.h"

struct tensors_attempt {
    const struct manifest *manifest;
    struct store_publish publish;
    struct tensor_set *set;
    struct digest digest;
    bool duplicate;

    /* under the lock */
    bool has_ended;
    sw_error why;
};

static void on_ended(struct store_publish *publish, const sw_error *why) {
    struct tensors_attempt *attempt = container_of(publish, struct tensors_attempt, publish);
    attempt->has_ended = true;
    attempt->why = *why;
}

static sw_status attempt_open(struct store *store, void *context, sw_error *error) {
    struct tensors_attempt *attempt = context;
    attempt->publish = (struct store_publish){.ended = on_ended};
    return store_publish_open(store, &attempt->publish, &attempt->manifest->address,
                              manifest_bytes(attempt->manifest), manifest_fits_response(attempt->manifest),
                              error);
}

static sw_status attempt_commit(struct store *store, void *context, sw_error *error) {
    struct tensors_attempt *attempt = context;
    if (attempt->has_ended) {
        *error = attempt->why;
        return attempt->why.code;
    }
    struct tensor_set *set = attempt->publish.known ? NULL : attempt->set;
    return store_publish_commit(store, &attempt->publish, set, attempt->digest, &attempt->duplicate, error);
}

static void abandon(struct local_publish *local, struct tensors_attempt *attempt) {
    store_publish_abandon(guard_lock(&local->endpoint->guard), &attempt->publish);
    guard_unlock_changed(&local->endpoint->guard);
}

/* Block by block, so that each is copied while it is hot. */
static void copy_and_hash(struct tensor *tensor, uint8_t *place, const uint8_t *source,
                          uint32_t block_bytes) {
    uint64_t blocks = tensor_blocks(tensor->info.byte_length, block_bytes);
    for (uint64_t i = 0; i < blocks; i++) {
        size_t offset = i * block_bytes, size = tensor_block_size(tensor->info.byte_length, block_bytes, i);
        tensor->block_hashes[i] = block_hash(source + offset, size);
        copy_into(place + offset, source + offset, size, tensor->info.byte_length);
    }
    tensor->info.digest = tensor_digest(tensor->block_hashes, blocks);
}

static void nothing_to_release(void *context) {
    (void)context;
}

static sw_status fill(struct tensor *tensor, const sw_named_tensor *source, bool keep, uint32_t block_bytes,
                      sw_error *error) {
    sw_status status = SW_OK;
    if (source->buffer) {
        tensor->bytes = sw_buffer_ref(source->buffer);
    } else if (!keep) {
        status = sw_buffer_wrap(source->view.data, source->view.size, nothing_to_release, NULL,
                                &tensor->bytes, error);
    } else {
        void *place;
        status = device_host.allocate(source->view.size, &tensor->bytes, &place, error);
        if (status == SW_OK) copy_and_hash(tensor, place, source->view.data, block_bytes);
        return status;
    }
    if (status == SW_OK) tensor_hash(tensor, block_bytes);
    return status;
}

static sw_status make_set(struct tensors_attempt *attempt, const sw_named_tensor *tensors, sw_error *error) {
    const struct manifest *manifest = attempt->manifest;
    struct tensor_set *set = tensor_set_create(manifest->tensors, manifest->tensor_count,
                                               manifest->block_bytes, &allocator_system);
    if (!set) return error_no_memory(error);
    for (uint32_t i = 0; i < set->count; i++) {
        sw_status status =
            fill(&set->tensors[i], &tensors[i], !attempt->publish.known, set->block_bytes, error);
        if (status != SW_OK) {
            tensor_set_unref(set);
            return status;
        }
    }
    attempt->set = set;
    attempt->digest = tensor_set_digest(set);
    return SW_OK;
}

static sw_status publish(struct local_publish *local, struct tensors_attempt *attempt,
                         const sw_named_tensor *tensors, sw_error *error) {
    sw_status status = local_publish_retry(local, attempt_open, attempt, error);
    if (status != SW_OK) return status;
    status = make_set(attempt, tensors, error);
    if (status == SW_OK) status = local_publish_retry(local, attempt_commit, attempt, error);
    if (status != SW_OK) abandon(local, attempt);
    tensor_set_unref(attempt->set);
    return status;
}

static void describe(const sw_address *address, const sw_named_tensor *tensors, size_t count,
                     struct tensor_info *infos, struct manifest *ret) {
    for (size_t i = 0; i < count; i++) {
        const sw_named_tensor *tensor = &tensors[i];
        infos[i] = (struct tensor_info){
            .name = tensor->name ? tensor->name : "",
            .dtype = tensor->view.dtype,
            .rank = tensor->view.rank,
            .shape = tensor->view.shape,
            .byte_length = tensor->buffer ? sw_buffer_size(tensor->buffer) : tensor->view.size,
        };
    }
    *ret = (struct manifest){.address = local_address(address),
                             .tensor_count = (uint32_t)count,
                             .tensors = infos,
                             .block_bytes = LIMIT_BLOCK_BYTES};
}

static sw_status check_and_publish(struct local_publish *local, const struct manifest *manifest,
                                   const sw_named_tensor *tensors, bool *ret_duplicate, sw_error *error) {
    struct tensors_attempt attempt = {.manifest = manifest};
    sw_status status = manifest_check(manifest, error);
    if (status == SW_OK) status = publish(local, &attempt, tensors, error);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = attempt.duplicate;
    return status;
}

sw_status local_publish_tensors(sw_publisher *publisher, const sw_address *address,
                                const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                                bool *ret_duplicate, sw_error *error) {
    struct local_publish local;
    struct manifest manifest;
    if (count > LIMIT_ITEM_TENSORS) {
        return error_set(error, SW_REASON_TOO_LARGE,
                         "%zu tensors, and an item has at most %u; publish several items", count,
                         LIMIT_ITEM_TENSORS);
    }
    sw_status status = local_publish_begin(&local, publisher, timeout_ms, error);
    if (status != SW_OK) return status;
    struct tensor_info *infos = calloc(count + 1, sizeof *infos);
    if (infos) {
        describe(address, tensors, count, infos, &manifest);
        status = check_and_publish(&local, &manifest, tensors, ret_duplicate, error);
    } else {
        status = error_no_memory(error);
    }
    free(infos);
    return local_publish_end(&local, status);
}
