#include <stdlib.h>

#include "client/core/answer.h"
#include "client/core/reassembly.h"
#include "client/core/results.h"
#include "client/rpc/call.h"
#include "client/rpc/finish.h"
#include "client/rpc/pull.h"
#include "client/rpc/spread.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/device/device.h"
#include "proto/device/sealed.h"
#include "proto/device/shared.h"
#include "proto/transport/slices.h"

struct tensors_call {
    struct sw_call call;
    struct pull pull;
    bool manifest_only;
    struct wishes wishes;
    struct reassembly *assembly;
    struct spread spread;
    uint64_t blocks_before; /* this stream */
    bool starts_over;       /* the stream is being ended for another one */
    bool takes_memory;      /* this stream may hand memory over */
    bool lost_memory;       /* one named memory that isn't here; from then on chunks alone */
    sw_tensors *result;
};

static struct tensors_call *tensors_of(struct sw_call *call) {
    return container_of(call, struct tensors_call, call);
}

static void tensors_begin(struct sw_call *call) {
    /* Who only asks what there is neither holds nor releases anything. */
    if (!tensors_of(call)->manifest_only) pull_begin(&tensors_of(call)->pull, call);
}

/* ---- memory that was handed over ---- */

static int find_memory(struct tensors_call *tensors, uint64_t token, uint64_t offset, size_t size) {
    uint64_t there;
    int fd = hand_over_arrived(&tensors->call.client->hand_over, token);
    bool is_right = fd >= 0 && sealed_check(fd, &there) && offset <= there && size <= there - offset;
    return is_right ? fd : -1;
}

static bool map_memory(void *context, uint64_t token, uint64_t offset, size_t size, sw_buffer **ret_buffer) {
    struct tensors_call *tensors = context;
    int fd = find_memory(tensors, token, offset, size);
    if (fd < 0 || !shared_open(fd, offset, size, true, ret_buffer)) return false;
    hand_over_forget(&tensors->call.client->hand_over, token);
    return true;
}

static bool read_memory(void *context, uint64_t token, uint64_t offset, void *out, size_t size) {
    struct tensors_call *tensors = context;
    int fd = find_memory(tensors, token, offset, size);
    tensors->lost_memory = fd < 0 || !sealed_read(fd, offset, out, size);
    return !tensors->lost_memory;
}

static void end_memory(struct tensors_call *tensors) {
    if (tensors->takes_memory) hand_over_end(&tensors->call.client->hand_over);
    tensors->takes_memory = false;
}

static uint64_t begin_memory(struct tensors_call *tensors) {
    end_memory(tensors);
    if (tensors->manifest_only || tensors->lost_memory) return 0;
    tensors->takes_memory = true;
    return hand_over_begin(&tensors->call.client->hand_over);
}

/* ---- a stream ---- */

/* From the first manifest on, the item is known by its own address and its pin. */
static sw_status encode_request(struct tensors_call *tensors, int64_t left_ms, struct arena *arena,
                                sw_buffer **ret_request, sw_error *error) {
    struct pull_request request = pull_request_of(&tensors->pull, &tensors->call, left_ms);
    const struct manifest *manifest = reassembly_manifest(tensors->assembly);
    request.manifest_only = tensors->manifest_only;
    request.hand_over = begin_memory(tensors);
    request.byte_limit = spread_limit(&tensors->spread, request.hand_over != 0);
    if (manifest) {
        request.address = manifest->address;
        request.latest = false;
        request.pin = manifest->pin;
    }
    if (!tensors->manifest_only) {
        sw_status status =
            reassembly_ranges(tensors->assembly, arena, &request.ranges, &request.range_count, error);
        if (status != SW_OK) return status;
    }
    return stream_tensors_request_encode(&request, ret_request, error);
}

static sw_status tensors_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request,
                                 bool *ret_more, sw_error *error) {
    (void)ret_more;
    struct tensors_call *tensors = tensors_of(call);
    reassembly_stream_begins(tensors->assembly);
    tensors->blocks_before = reassembly_blocks_arrived(tensors->assembly);
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    sw_status status = encode_request(tensors, left_ms, &arena, ret_request, error);
    arena_destroy(&arena);
    return status;
}

static void start_over(struct tensors_call *tensors) {
    tensors->starts_over = true;
    attempt_cancel(&tensors->call.attempt);
}

static sw_status tensors_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    struct tensors_call *tensors = tensors_of(call);
    if (tensors->starts_over) return SW_OK;
    struct message_pieces pieces;
    sw_status status = message_pieces_of(message, &pieces, error);
    if (status != SW_OK) return status;
    enum reassembly_news news;
    status = reassembly_take(tensors->assembly, pieces.pieces, pieces.count, &news, error);
    message_pieces_free(&pieces);
    if (status != SW_OK && tensors->lost_memory) {
        start_over(tensors);
        return SW_OK;
    }
    if (status != SW_OK) return status;
    call->bytes_arrived = reassembly_bytes_arrived(tensors->assembly);
    call->bytes_in_all = reassembly_bytes_in_all(tensors->assembly);
    call->has_begun = true;
    if (news == REASSEMBLY_STARTED_OVER) start_over(tensors);
    if (news == REASSEMBLY_BLOCK) {
        spread_own_block_came(&tensors->spread);
        spread_block_came(&tensors->spread);
    }
    return news == REASSEMBLY_MANIFEST ? spread_manifest_came(&tensors->spread, error) : SW_OK;
}

/* ---- between streams ---- */

static enum call_next take_result(struct tensors_call *tensors, sw_error *error) {
    sw_error found = {0};
    reassembly_finish(tensors->assembly, &tensors->result, &found);
    *error = found;
    return CALL_DONE;
}

static enum call_next go_on(struct tensors_call *tensors) {
    call_progress(&tensors->call);
    return CALL_GO_ON;
}

static bool brought_blocks(const struct tensors_call *tensors) {
    return reassembly_blocks_arrived(tensors->assembly) > tensors->blocks_before;
}

static enum call_next stream_ended_well(struct tensors_call *tensors, sw_error *error) {
    if (reassembly_manifest(tensors->assembly) && brought_blocks(tensors)) return go_on(tensors);
    answer_broken(error, &tensors->call.address, SW_TENSORS, "the stream ended before all blocks had come",
                  NULL);
    return CALL_DONE;
}

/* An endpoint that began anew may hold other tensors at the address than those that were begun. */
static bool lacks_what_was_begun(const struct tensors_call *tensors, const sw_error *error) {
    return reassembly_manifest(tensors->assembly) &&
           (error->reason == SW_REASON_BAD_RANGE || error->reason == SW_REASON_NO_SUCH_TENSOR);
}

static enum call_next tensors_settle(struct sw_call *call, sw_error *error) {
    struct tensors_call *tensors = tensors_of(call);
    bool is_whole = reassembly_whole(tensors->assembly);
    spread_stream_ended(&tensors->spread);
    if (call->more > 0) {
        if (is_whole) spread_stop(&tensors->spread);
        return CALL_WAIT;
    }
    if (is_whole) return take_result(tensors, error);
    if (tensors->starts_over || spread_has_ended_it(&tensors->spread)) {
        tensors->starts_over = false;
        return go_on(tensors);
    }
    if (error->code == SW_OK) return stream_ended_well(tensors, error);
    if (lacks_what_was_begun(tensors, error)) {
        reassembly_start_over(tensors->assembly);
        return go_on(tensors);
    }
    if (brought_blocks(tensors)) call_progress(call);
    return CALL_AS_USUAL;
}

/* ---- the call ---- */

static void tensors_done(struct sw_call *call, const sw_error *error) {
    struct tensors_call *tensors = tensors_of(call);
    end_memory(tensors);
    spread_done(&tensors->spread);
    pull_done(&tensors->pull, call, error, tensors->result ? &tensors->result->address : NULL);
}

static void tensors_stop(struct sw_call *call) {
    spread_stop(&tensors_of(call)->spread);
}

static void tensors_call_destroy(struct sw_call *call) {
    struct tensors_call *tensors = tensors_of(call);
    spread_fini(&tensors->spread);
    sw_tensors_destroy(tensors->result);
    reassembly_destroy(tensors->assembly);
    wishes_destroy(&tensors->wishes);
    call_fini(call);
    free(tensors);
}

static const struct call_ops tensors_ops = {
    .method = "/stagewire.v1.StageService/StreamTensors",
    .streams = true,
    .waits = true,
    .begin = tensors_begin,
    .request = tensors_request,
    .message = tensors_message,
    .settle = tensors_settle,
    .stop = tensors_stop,
    .done = tensors_done,
    .destroy = tensors_call_destroy,
};

static sw_status prepare(struct tensors_call *tensors, const sw_tensor_request *requests, uint32_t count,
                         sw_error *error) {
    sw_status status = wishes_init(&tensors->wishes, requests, count, error);
    if (status != SW_OK) return status;
    struct reassembly_options options = {
        .wishes = &tensors->wishes,
        .asked = &tensors->call.address,
        .latest = tensors->pull.latest,
        .manifest_only = tensors->manifest_only,
        .allocate = device_host.allocate,
        .allocator = &allocator_system,
        .memory = {.map = map_memory, .read = read_memory, .context = tensors},
    };
    tensors->assembly = reassembly_create(&options);
    if (!tensors->assembly) return error_no_memory(error);
    spread_init(&tensors->spread, &tensors->call, &tensors->pull, tensors->assembly);
    return SW_OK;
}

static sw_status make(sw_client *client, const sw_pull *pull, const sw_tensor_request *requests,
                      uint32_t count, bool manifest_only, sw_call **ret_call, sw_error *error) {
    struct tensors_call *tensors = calloc(1, sizeof *tensors);
    if (!tensors) return error_no_memory(error);
    pull_init(&tensors->pull, pull);
    tensors->manifest_only = manifest_only;
    sw_status status =
        call_init(&tensors->call, &tensors_ops, client, &pull->address, SW_TENSORS, pull->timeout_ms, error);
    if (status != SW_OK) {
        free(tensors);
        return status;
    }
    status = prepare(tensors, requests, count, error);
    if (status == SW_OK)
        *ret_call = &tensors->call;
    else
        sw_call_destroy(&tensors->call);
    return status;
}

sw_status sw_client_start_tensors(sw_client *client, const sw_pull *pull, const sw_tensor_request *requests,
                                  uint32_t count, sw_call **ret_call, sw_error *error) {
    sw_call *call;
    sw_status status = make(client, pull, requests, count, false, &call, error);
    return status == SW_OK ? finish_start(call, ret_call, error) : status;
}

sw_status sw_call_finish_tensors(sw_call *call, sw_tensors **ret_tensors, sw_error *error) {
    sw_status status = finish_call(call, &tensors_ops, "tensors", error);
    if (status != SW_OK) return status;
    *ret_tensors = tensors_of(call)->result;
    tensors_of(call)->result = NULL;
    return SW_OK;
}

static sw_status get(sw_client *client, const sw_pull *pull, const sw_tensor_request *requests,
                     uint32_t count, bool manifest_only, sw_tensors **ret_tensors, sw_error *error) {
    sw_call *call;
    sw_status status = make(client, pull, requests, count, manifest_only, &call, error);
    if (status != SW_OK) return status;
    status = call_run(call, error);
    if (status == SW_OK) status = sw_call_finish_tensors(call, ret_tensors, error);
    sw_call_destroy(call);
    return status;
}

sw_status sw_client_get_tensors(sw_client *client, const sw_pull *pull, const sw_tensor_request *requests,
                                uint32_t count, sw_tensors **ret_tensors, sw_error *error) {
    return get(client, pull, requests, count, false, ret_tensors, error);
}

sw_status sw_client_get_manifest(sw_client *client, const sw_pull *pull, sw_tensors **ret_tensors,
                                 sw_error *error) {
    return get(client, pull, NULL, 0, true, ret_tensors, error);
}
