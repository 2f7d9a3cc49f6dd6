/* PublishTensors: a manifest, then blocks in any order. All of it is published, or nothing. */
#include <string.h>

#include "proto/base/error.h"
#include "proto/transport/slices.h"
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/hand_over.h"
#include "service/rpc/manifest_size.h"
#include "service/rpc/methods.h"
#include "service/rpc/server.h"
#include "service/rpc/tensor_intake.h"

struct state {
    struct manifest manifest;
    struct store_publish publish;
    struct tensor_intake intake;
    struct call *call;
    bool has_manifest;
    bool hands_over; /* the last message stood for memory, which takes milliseconds to be hashed */
    struct loop_turn next;

    /* under the lock */
    bool has_ended;
    sw_error why;
};

static void on_ended(struct store_publish *publish, const sw_error *why) {
    struct state *state = container_of(publish, struct state, publish);
    state->has_ended = true;
    state->why = *why;
    call_wake(state->call);
}

static void abandon(struct call *call) {
    struct state *state = call->state;
    if (!call->subscribed) return;
    store_publish_abandon(guard_lock(call->guard), &state->publish);
    guard_unlock_changed(call->guard);
    call_unsubscribe(call);
}

/* Place and room come back at once, not when the client has read the answer. */
static void fail(struct call *call, const sw_error *error) {
    abandon(call);
    call_fail(call, error);
}

/* What the intake finds wrong doesn't name the item; we know it. */
static void fail_item(struct call *call, sw_error *error) {
    const struct state *state = call->state;
    sw_address at = state->manifest.address;
    char words[ADDRESS_WORDS_MAX];
    const struct store *store = guard_lock(call->guard);
    if (!at.has_stage) at.stage = store_options_of(store)->stage;
    if (at.generation == 0) at.generation = store_generation(store);
    guard_unlock(call->guard);
    at.has_stage = true;
    error_prefix(error, "%s: ", address_in_words(words, sizeof words, &at, SW_TENSORS));
    fail(call, error);
}

/* ---- the manifest ---- */

static sw_status open_publish(struct call *call, sw_error *error) {
    struct state *state = call->state;
    const struct manifest *manifest = &state->manifest;
    uint64_t size = manifest_bytes(manifest);
    bool fits = manifest_fits_response(manifest);
    state->publish.ended = on_ended;
    call_subscribe(call);
    sw_status status =
        store_publish_open(guard_lock(call->guard), &state->publish, &manifest->address, size, fits, error);
    guard_unlock_changed(call->guard);
    if (status != SW_OK) call_unsubscribe(call);
    return status;
}

static sw_status decode_manifest(struct call *call, grpc_byte_buffer *message, sw_error *error) {
    struct state *state = call->state;
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    status = manifest_decode_names(flat.data, flat.size, &call->arena, &state->manifest, error);
    message_flat_free(&flat);
    return status;
}

static void take_manifest(struct call *call, grpc_byte_buffer *message) {
    struct state *state = call->state;
    sw_error error;
    if (decode_manifest(call, message, &error) != SW_OK || open_publish(call, &error) != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->has_manifest = true;
    if (manifest_check_sizes(&state->manifest, &error) != SW_OK ||
        tensor_intake_open(&state->intake, &state->manifest, !state->publish.known, &error) != SW_OK) {
        fail_item(call, &error);
    }
}

/* ---- blocks ---- */

static int find_memory(void *context, uint64_t token) {
    return hand_over_find(context, token);
}

static void take_block(struct call *call, const grpc_byte_buffer *message) {
    struct state *state = call->state;
    struct message_pieces pieces;
    sw_error error;
    sw_status status = message_pieces_of(message, &pieces, &error);
    if (status != SW_OK) {
        fail(call, &error);
        return;
    }
    status = tensor_intake_take(&state->intake, pieces.pieces, pieces.count, find_memory,
                                call->server->all->hand_over, &error);
    message_pieces_free(&pieces);
    if (status != SW_OK) fail_item(call, &error);
}

/* ---- the end ---- */

static sw_status commit(struct call *call, struct digest digest, bool *ret_duplicate, sw_error *error) {
    struct state *state = call->state;
    struct tensor_set *set = state->publish.known ? NULL : state->intake.set;
    struct store *store = guard_lock(call->guard);
    sw_status status = state->has_ended ? state->why.code : SW_OK;
    if (status == SW_OK) {
        status = store_publish_commit(store, &state->publish, set, digest, ret_duplicate, error);
    } else {
        *error = state->why;
    }
    guard_unlock_changed(call->guard);
    return status;
}

static void count_shared(const struct call *call) {
    const struct state *state = call->state;
    if (state->intake.shared_tensors == 0) return;
    struct hand_over_info *counts = hand_over_counts(call->server->all->hand_over);
    counts->tensors_in += state->intake.shared_tensors;
    counts->bytes_in += state->intake.shared_bytes;
}

static void finish(struct call *call) {
    struct state *state = call->state;
    struct digest digest;
    bool duplicate = false;
    sw_buffer *response = NULL;
    sw_error error;
    if (!state->has_manifest) {
        error_set(&error, SW_REASON_MALFORMED, "the stream ended before its manifest");
        error_add(&error, "path", "manifest");
        fail(call, &error);
        return;
    }
    if (tensor_intake_finish(&state->intake, &digest, &error) != SW_OK) {
        fail_item(call, &error);
        return;
    }
    sw_status status = commit(call, digest, &duplicate, &error);
    if (status == SW_OK) count_shared(call);
    if (status == SW_OK) status = published_response_encode(duplicate, &response, &error);
    call_reply_encoded(call, status, response, &error);
}

static void take(struct call *call, grpc_byte_buffer *message) {
    struct state *state = call->state;
    uint64_t before = state->intake.shared_bytes;
    if (state->has_manifest)
        take_block(call, message);
    else
        take_manifest(call, message);
    state->hands_over = state->intake.shared_bytes > before;
}

/* The bytes of chunks come while others are looked at. Messages that stand for memory are small and have come
 * long ago: there everybody has his turn before the next. */
static void received(struct call *call, grpc_byte_buffer *message) {
    struct state *state = call->state;
    bool comes_meanwhile = !state->hands_over;
    if (!message) {
        finish(call);
        return;
    }
    if (comes_meanwhile) call_read(call);
    take(call, message);
    if (!comes_meanwhile && !call_is_over(call)) loop_turn_wait(call->loop, &state->next);
}

static void read_next(struct loop_turn *turn) {
    call_read(container_of(turn, struct state, next)->call);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    (void)data, (void)size;
    state->call = call;
    state->next.run = read_next;
    call_read(call);
}

/* Superseded, closed or drained meanwhile: the client is told at once. */
static void woken(struct call *call) {
    struct state *state = call->state;
    guard_lock(call->guard);
    bool ended = state->has_ended;
    guard_unlock(call->guard);
    if (ended) fail(call, &state->why);
}

static void end(struct call *call) {
    struct state *state = call->state;
    loop_turn_clear(&state->next);
    abandon(call);
    tensor_intake_close(&state->intake);
}

const struct method publish_tensors = {
    .path = PUBLISHER_SERVICE "PublishTensors",
    .state_size = sizeof(struct state),
    .reads = true,
    .reads_when_asked = true,
    .begin = begin,
    .received = received,
    .woken = woken,
    .end = end,
};
