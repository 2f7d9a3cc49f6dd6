#include "service/rpc/local_publish.h"

#include "proto/base/error.h"
#include "proto/base/limits.h"

#define TIMEOUT_MS 600000

sw_status local_publish_begin(struct local_publish *local, sw_publisher *publisher, int64_t timeout_ms,
                              sw_error *error) {
    if (loop_forked()) {
        return error_set_code(
            error, SW_FAILED_PRECONDITION, SW_REASON_NONE,
            "this endpoint belongs to the process that this one was forked from; open one here");
    }
    local->endpoint = container_of(publisher, sw_endpoint, publisher);
    local->until_ms =
        clock_after(loop_now_ms(local->endpoint->loop), timeout_ms > 0 ? timeout_ms : TIMEOUT_MS);
    arena_init(&local->arena, &allocator_system, LIMIT_DECODE_BYTES);
    guard_lock(&local->endpoint->guard);
    local->endpoint->users++;
    guard_unlock(&local->endpoint->guard);
    return SW_OK;
}

sw_status local_publish_end(struct local_publish *local, sw_status status) {
    guard_lock(&local->endpoint->guard);
    local->endpoint->users--;
    guard_unlock_changed(&local->endpoint->guard);
    arena_destroy(&local->arena);
    return status;
}

static bool may_pass(const sw_error *error) {
    return error->reason == SW_REASON_STORE_FULL || error->reason == SW_REASON_PUBLISH_IN_PROGRESS;
}

sw_status local_publish_retry(struct local_publish *local,
                              sw_status (*attempt)(struct store *store, void *context, sw_error *error),
                              void *context, sw_error *error) {
    struct guard *guard = &local->endpoint->guard;
    sw_error why;
    struct store *store = guard_lock(guard);
    sw_status status = attempt(store, context, &why);
    while (status != SW_OK && may_pass(&why) && guard_wait(guard, local->until_ms)) {
        status = attempt(store, context, &why);
    }
    guard_unlock_changed(guard);
    if (status != SW_OK && error) *error = why;
    return status;
}

/* ---- the rules ---- */

sw_status local_check_failure(struct local_publish *local, const struct publish_failure_request *request,
                              struct publish_failure_request *ret, sw_error *error) {
    sw_buffer *bytes;
    sw_status status = publish_failure_request_encode(request, &bytes, error);
    if (status != SW_OK) return status;
    status = publish_failure_request_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &local->arena, ret,
                                            error);
    sw_buffer_unref(bytes);
    return status;
}

/* An address follows the same rules wherever it stands, so one request stands for all. */
sw_status local_check_address(struct local_publish *local, const sw_address *address, sw_address *ret,
                              sw_error *error) {
    const struct publish_failure_request request = {.address = *address, .kind = SW_METRICS, .message = "-"};
    struct publish_failure_request checked;
    sw_status status = local_check_failure(local, &request, &checked, error);
    if (status == SW_OK) *ret = checked.address;
    return status;
}

sw_status local_check_close(struct local_publish *local, const struct close_channel_request *request,
                            struct close_channel_request *ret, sw_error *error) {
    sw_buffer *bytes;
    sw_status status = close_channel_request_encode(request, &bytes, error);
    if (status != SW_OK) return status;
    status =
        close_channel_request_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &local->arena, ret, error);
    sw_buffer_unref(bytes);
    return status;
}

sw_status local_check_attachment(struct arena *arena, const sw_attachment *attachment, sw_attachment *ret,
                                 sw_error *error) {
    sw_buffer *bytes;
    sw_status status = attach_request_encode(attachment, &bytes, error);
    if (status != SW_OK) return status;
    status = attach_request_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), arena, ret, error);
    sw_buffer_unref(bytes);
    return status;
}

static sw_status describe(struct local_publish *local, const sw_named_tensor *tensors, size_t count,
                          struct tensor_info **ret, sw_error *error) {
    struct tensor_info *infos = arena_get(&local->arena, count * sizeof *infos);
    if (!infos) {
        error_set(error, SW_REASON_TOO_LARGE, "%zu tensors in one item; an item may have %u", count,
                  LIMIT_ITEM_TENSORS);
        return SW_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        const sw_named_tensor *tensor = &tensors[i];
        infos[i] = (struct tensor_info){
            .name = tensor->name,
            .dtype = tensor->view.dtype,
            .rank = tensor->view.rank,
            .shape = tensor->view.shape,
            .byte_length = tensor->buffer ? sw_buffer_size(tensor->buffer) : tensor->view.size,
        };
    }
    *ret = infos;
    return SW_OK;
}

sw_status local_check_tensors(struct local_publish *local, const sw_address *address,
                              const sw_named_tensor *tensors, size_t count, struct manifest *ret,
                              sw_error *error) {
    struct tensor_info *infos;
    sw_buffer *bytes;
    sw_status status = describe(local, tensors, count, &infos, error);
    if (status != SW_OK) return status;
    const struct manifest manifest = {.address = *address,
                                      .tensor_count = (uint32_t)count,
                                      .tensors = infos,
                                      .block_bytes = LIMIT_BLOCK_BYTES};
    status = manifest_encode(&manifest, &bytes, error);
    if (status != SW_OK) return status;
    status = manifest_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &local->arena, ret, error);
    sw_buffer_unref(bytes);
    return status;
}
