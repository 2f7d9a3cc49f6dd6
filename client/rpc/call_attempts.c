#include "client/rpc/call_attempts.h"

#include <inttypes.h>

#include "client/core/retry.h"
#include "proto/base/error.h"

/* What the endpoint gets beyond wait_ms to say why nothing came. */
#define ANSWER_MS 1000

static void finish(struct sw_call *call) {
    loop_timer_clear(call->client->loop, &call->again_timer);
    if (call->ops->done) call->ops->done(call, &call->error);
    call_over(call);
}

static void finish_with(struct sw_call *call, const sw_error *error) {
    call->error = *error;
    finish(call);
}

/* ---- errors made here ---- */

static int64_t spent_ms(const struct sw_call *call) {
    return loop_now_ms(call->client->loop) - call->begun_ms;
}

/* "metrics … : " or nothing, in front of what follows. */
static void name_the_item(const struct sw_call *call, sw_error *error) {
    char words[ADDRESS_WORDS_MAX];
    if (call_words(call, words)[0]) error_prefix(error, "%s: ", words);
}

static void say_cancelled(struct sw_call *call) {
    error_set_code(&call->error, SW_CANCELLED, SW_REASON_NONE, "cancelled by the caller");
    name_the_item(call, &call->error);
}

static void say_unanswered(struct sw_call *call, sw_error *error, const sw_error *before) {
    bool had_error = before->code != SW_OK;
    error_set_code(error, SW_DEADLINE_EXCEEDED, SW_REASON_NONE, "%s did not %s within %" PRId64 " ms%s%s",
                   call->client->endpoint, call->answers > 0 ? "send all" : "answer", spent_ms(call),
                   had_error ? "; before that: " : "", had_error ? before->message : "");
    name_the_item(call, error);
}

static void say_lost(struct sw_call *call, sw_error *error) {
    client_say_lost(call->client, error);
    name_the_item(call, error);
}

static void say_unreached(struct sw_call *call, sw_error *error) {
    error_prefix(error, "%s can't be reached (tried for %" PRId64 " ms): ", call->client->endpoint,
                 spent_ms(call));
    name_the_item(call, error);
}

/* ---- attempts ---- */

static struct sw_call *call_of(struct attempt *attempt) {
    return container_of(attempt, struct sw_call, attempt);
}

static void attempt_sent(struct attempt *attempt) {
    client_reached(call_of(attempt)->client);
}

static void attempt_message(struct attempt *attempt, grpc_byte_buffer *message) {
    struct sw_call *call = call_of(attempt);
    if (call_is_ending(call)) return;
    if (call->answers++ == 0)
        link_answered(&call->client->link, loop_now_ms(call->client->loop) - call->asked_ms);
    sw_error error;
    if (call->ops->message(call, message, &error) != SW_OK) client_call_fail(call, &error);
}

static void attempt_written(struct attempt *attempt) {
    struct sw_call *call = call_of(attempt);
    if (!call_is_ending(call) && call->ops->written) call->ops->written(call);
}

static void attempt_ended(struct attempt *attempt, const sw_error *error);

static const struct attempt_ops attempts = {
    .sent = attempt_sent,
    .message = attempt_message,
    .written = attempt_written,
    .ended = attempt_ended,
};

int64_t call_deadline_ms(const struct sw_call *call) {
    return call->ops->waits ? clock_after(call->deadline_ms, ANSWER_MS) : call->deadline_ms;
}

static void try(struct sw_call *call) {
    call->asked_ms = loop_now_ms(call->client->loop);
    int64_t left_ms = call->deadline_ms - call->asked_ms;
    sw_buffer *request;
    bool writes_more = false;
    sw_error error;
    if (call->ops->request(call, left_ms > 1 ? left_ms : 1, &request, &writes_more, &error) != SW_OK) {
        finish_with(call, &error);
        return;
    }
    call->answers = 0;
    struct attempt_start start = {
        .loop = call->client->loop,
        .channel = call->client->connection.channel,
        .method = call->ops->method,
        .request = request,
        .writes_more = writes_more,
        .reads = call->ops->streams ? READS_ALL : READS_ONE,
        .deadline_ms = call_deadline_ms(call),
    };
    attempt_start(&call->attempt, &attempts, &start);
    sw_buffer_unref(request);
}

static void give_up(struct sw_call *call, sw_error *error) {
    if (retry_nobody_answered(error->code, error->reason)) say_unreached(call, error);
    finish_with(call, error);
}

static void run_again(struct loop_timer *timer) {
    struct sw_call *call = container_of(timer, struct sw_call, again_timer);
    if (loop_now_ms(call->client->loop) < call->deadline_ms)
        try(call);
    else
        give_up(call, &call->error);
}

static void try_later(struct sw_call *call, const sw_error *error, int64_t delay_ms) {
    call->error = *error;
    call->tries++;
    call->again_timer.run = run_again;
    loop_timer_set(call->client->loop, &call->again_timer,
                   clock_after(loop_now_ms(call->client->loop), delay_ms));
}

/* The endpoint said no, and time was up while it was asked once more: then its no stands. */
static bool was_refused_before(const struct sw_call *call) {
    return call->error.reason == SW_REASON_STORE_FULL || call->error.reason == SW_REASON_PUBLISH_IN_PROGRESS;
}

static bool is_attached(const struct sw_call *call) {
    uint64_t generation = atomic_load(&call->client->attached_generation);
    return generation != 0 && call->address.generation == generation;
}

static void try_again_or_not(struct sw_call *call, sw_error *error) {
    sw_client *client = call->client;
    if (error->code == SW_DEADLINE_EXCEEDED && error->reason == SW_REASON_NONE) {
        sw_error before = call->error;
        if (was_refused_before(call))
            *error = before;
        else
            say_unanswered(call, error, &before);
        finish_with(call, error);
        return;
    }
    struct retry_case failed = {
        .status = error->code,
        .reason = error->reason,
        .publishes = call->ops->publishes,
        .has_begun = call->has_begun,
        .is_attached = is_attached(call),
        .now_ms = loop_now_ms(client->loop),
        .deadline_ms = call->deadline_ms,
        .reached_once = client->reached_once,
        .gone_since_ms = client->gone_since_ms,
        .endpoint_grace_ms = client->endpoint_grace_ms,
        .attempt = call->tries,
        .random = client_random(client),
    };
    int64_t delay_ms;
    switch (retry_decide(&failed, &delay_ms)) {
    case RETRY_AGAIN:
        try_later(call, error, delay_ms);
        return;
    case RETRY_LOST:
        say_lost(call, error);
        finish_with(call, error);
        return;
    case RETRY_GIVE_UP:
        give_up(call, error);
        return;
    }
}

static void finish_well(struct sw_call *call) {
    sw_error error = {0};
    if (call->answers == 0) {
        error_set_code(&error, SW_INTERNAL, SW_REASON_NONE,
                       "%s ended the call without an answer; it is not an endpoint of stagewire's",
                       call->client->endpoint);
        name_the_item(call, &error);
    }
    finish_with(call, &error);
}

bool call_is_ending(const struct sw_call *call) {
    return call->is_cancelled || call->has_failed;
}

static void end_when_quiet(struct sw_call *call) {
    if (call->more > 0 || attempt_under_way(&call->attempt)) return;
    if (!call->has_failed) say_cancelled(call);
    finish(call);
}

static void settle(struct sw_call *call, sw_error *error) {
    enum call_next next = call->ops->settle ? call->ops->settle(call, error) : CALL_AS_USUAL;
    if (call_is_ending(call)) {
        end_when_quiet(call);
        return;
    }
    call->is_waiting = next == CALL_WAIT;
    if (call->is_waiting)
        call->error = *error;
    else if (next == CALL_GO_ON)
        try(call);
    else if (next == CALL_DONE)
        finish_with(call, error);
    else if (error->code == SW_OK)
        finish_well(call);
    else
        try_again_or_not(call, error);
}

static void attempt_ended(struct attempt *attempt, const sw_error *ended) {
    struct sw_call *call = call_of(attempt);
    sw_error error = *ended;
    client_ended(call->client, &error);
    if (call_is_ending(call))
        end_when_quiet(call);
    else
        settle(call, &error);
}

void call_more_ended(struct sw_call *call) {
    call->more--;
    if (call_is_ending(call)) {
        end_when_quiet(call);
    } else if (call->is_waiting && call->more == 0) {
        sw_error error = call->error;
        settle(call, &error);
    }
}

/* ---- from outside ---- */

void client_call_begin(struct sw_call *call) {
    call->is_cancelled = !client_enter(call->client, &call->member) || atomic_load(&call->cancel_asked);
    if (call->is_cancelled) {
        say_cancelled(call);
        finish(call);
        return;
    }
    if (call->ops->begin) call->ops->begin(call);
    try(call);
}

static void stop_all(struct sw_call *call) {
    if (call->more > 0) call->ops->stop(call);
    attempt_cancel(&call->attempt);
}

void call_cancel_now(struct sw_call *call) {
    if (!list_linked(&call->member.link) || call->is_cancelled) return;
    call->is_cancelled = true;
    stop_all(call);
    end_when_quiet(call);
}

void client_call_fail(struct sw_call *call, const sw_error *error) {
    if (call->has_failed) return;
    call->has_failed = true;
    call->error = *error;
    stop_all(call);
}

void call_progress(struct sw_call *call) {
    call->tries = 0;
}
