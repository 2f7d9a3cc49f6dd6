/* ExchangeObject: a stage's word in a meeting, and the answer when all have spoken. */
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"

struct state {
    struct exchange_request request;
    struct store_word word;
    struct call *call;
    bool is_started;
};

static void on_answered(struct store_word *word) {
    call_wake(container_of(word, struct state, word)->call);
}

/* Under the lock: the owners are the meeting's. */
static sw_status encode_answer(const struct store_word *word, sw_buffer **ret, sw_error *error) {
    if (word->status != SW_OK) {
        *error = word->error;
        return word->status;
    }
    struct exchange_response response = {.address = word->address,
                                         .owners = word->owners,
                                         .owner_count = word->owner_count,
                                         .value_bytes = word->value};
    return exchange_response_encode(&response, ret, error);
}

static void begin(struct call *call, const void *data, size_t size) {
    struct state *state = call->state;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = exchange_request_decode(data, size, &call->arena, &state->request, &error);
    if (status != SW_OK) {
        call_fail(call, &error);
        return;
    }
    state->call = call;
    state->is_started = true;
    state->word = (struct store_word){.request = &state->request,
                                      .until_ms = call_wait_until(call, &state->request.wait),
                                      .answered = on_answered};
    bool now = store_word_start(guard_lock(call->guard), &state->word);
    if (now) {
        status = encode_answer(&state->word, &response, &error);
    } else {
        call_subscribe(call);
    }
    guard_unlock_changed(call->guard);
    if (now) call_reply_encoded(call, status, response, &error);
}

static void woken(struct call *call) {
    struct state *state = call->state;
    sw_buffer *response = NULL;
    sw_error error;
    call_woken_last(call);
    guard_lock(call->guard);
    sw_status status = encode_answer(&state->word, &response, &error);
    guard_unlock(call->guard);
    call_reply_encoded(call, status, response, &error);
}

/* A word stays said when its caller goes: only its wait ends. */
static void end(struct call *call) {
    struct state *state = call->state;
    if (!state->is_started) return;
    struct store *store = guard_lock(call->guard);
    if (call->subscribed) store_word_cancel(store, &state->word);
    store_word_finish(store, &state->word);
    guard_unlock(call->guard);
    call_unsubscribe(call);
    sw_buffer_unref(state->word.value);
    sw_buffer_unref(state->request.value_bytes);
}

const struct method exchange_object = {
    .path = STAGE_SERVICE "ExchangeObject",
    .state_size = sizeof(struct state),
    .begin = begin,
    .woken = woken,
    .end = end,
};
