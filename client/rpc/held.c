#include "client/rpc/held.h"

#include <inttypes.h>

#include "client/core/retry.h"
#include "proto/base/error.h"
#include "proto/base/waiting.h"

static void set_state(struct held *held, enum held_state state) {
    pthread_mutex_lock(&held->lock);
    held->state = state;
    pthread_cond_broadcast(&held->changed);
    pthread_mutex_unlock(&held->lock);
}

/* The state changes on the loop's thread only, which therefore may look without the lock. */
static bool is_over(const struct held *held) {
    return held->state == HELD_ENDED;
}

static void clear_timers(struct held *held) {
    loop_timer_clear(held->client->loop, &held->again_timer);
    loop_timer_clear(held->client->loop, &held->due_timer);
}

static void end_with(struct held *held, const sw_error *error) {
    clear_timers(held);
    client_leave(held->client, &held->member);
    pthread_mutex_lock(&held->lock);
    held->state = HELD_ENDED;
    held->error = *error;
    if (held->ops->ended) held->ops->ended(held);
    pthread_cond_broadcast(&held->changed);
    pthread_mutex_unlock(&held->lock);
}

static void say_cancelled(struct held *held, sw_error *error) {
    error_set_code(error, SW_CANCELLED, SW_REASON_NONE, "%s was closed", held->ops->words(held));
}

static void go(struct held *held) {
    if (!is_over(held)) {
        sw_error error;
        say_cancelled(held, &error);
        end_with(held, &error);
    }
    loop_task_ends(held->client->loop);
    pthread_mutex_lock(&held->lock);
    held->is_gone = true;
    pthread_cond_broadcast(&held->changed);
    pthread_mutex_unlock(&held->lock);
}

/* ---- time ---- */

/* Ends what is under way, and then the whole. */
static void fail(struct held *held, const sw_error *error) {
    if (held->has_failed || is_over(held)) return;
    held->has_failed = true;
    held->failure = *error;
    if (attempt_under_way(&held->attempt))
        attempt_cancel(&held->attempt);
    else
        end_with(held, error);
}

static void say_broken(struct held *held, const char *why, int64_t spent_ms, sw_error *error) {
    error_set(error, SW_REASON_ENDPOINT_LOST,
              "%s at %s broke %" PRId64
              " ms ago and could not be taken up again within the endpoint grace of %" PRId64
              " ms; see what became of the endpoint%s%s",
              held->ops->words(held), held->client->endpoint, spent_ms, held->client->endpoint_grace_ms,
              why[0] ? ": " : "", why);
}

/* Where every try failed, that is the reason; else nobody answered the one under way. */
static void say_late(struct held *held, const sw_error *last, int64_t spent_ms, sw_error *error) {
    bool has_tried = last->code != SW_OK;
    error_set_code(error, has_tried ? last->code : SW_DEADLINE_EXCEEDED, last->reason,
                   "%s at %s does not stand after %" PRId64 " ms%s%s", held->ops->words(held),
                   held->client->endpoint, spent_ms, has_tried ? ": " : "", has_tried ? last->message : "");
}

static void run_due(struct loop_timer *timer) {
    struct held *held = container_of(timer, struct held, due_timer);
    int64_t spent_ms = loop_now_ms(held->client->loop) - held->begun_ms;
    sw_error last = held->failure, error;
    if (held->state == HELD_BROKEN)
        say_broken(held, last.message, spent_ms, &error);
    else
        say_late(held, &last, spent_ms, &error);
    fail(held, &error);
}

static void set_due(struct held *held, int64_t begun_ms, int64_t due_ms) {
    held->begun_ms = begun_ms;
    held->due_ms = due_ms;
    held->tries = 0;
    held->failure = (sw_error){0};
    held->due_timer.run = run_due;
    loop_timer_set(held->client->loop, &held->due_timer, due_ms);
}

void held_stands(struct held *held) {
    if (held->state == HELD_STANDING || is_over(held)) return;
    loop_timer_clear(held->client->loop, &held->due_timer);
    set_state(held, HELD_STANDING);
}

/* ---- streams ---- */

static struct held *held_of(struct attempt *attempt) {
    return container_of(attempt, struct held, attempt);
}

static void attempt_sent(struct attempt *attempt) {
    client_reached(held_of(attempt)->client);
}

static void attempt_headers(struct attempt *attempt) {
    struct held *held = held_of(attempt);
    if (held->ops->headers_are_a_sign) held_stands(held);
}

static void attempt_message(struct attempt *attempt, grpc_byte_buffer *message) {
    struct held *held = held_of(attempt);
    sw_error error;
    if (held->has_failed || held->is_closing) return;
    if (held->ops->message(held, message, &error) != SW_OK) fail(held, &error);
}

static void attempt_ended(struct attempt *attempt, const sw_error *error);

static const struct attempt_ops attempts = {
    .sent = attempt_sent,
    .headers = attempt_headers,
    .message = attempt_message,
    .ended = attempt_ended,
};

static void try(struct held *held) {
    sw_buffer *request;
    sw_error error;
    if (held->ops->request(held, &request, &error) != SW_OK) {
        end_with(held, &error);
        return;
    }
    struct attempt_start start = {
        .loop = held->client->loop,
        .channel = held->client->connection.channel,
        .method = held->ops->method,
        .request = request,
        .reads = held->ops->reads,
        .deadline_ms = CLOCK_NEVER,
    };
    attempt_start(&held->attempt, &attempts, &start);
    sw_buffer_unref(request);
}

static void run_again(struct loop_timer *timer) {
    try(container_of(timer, struct held, again_timer));
}

/* An end that says nothing about the request: the connection, or the endpoint, went. */
static bool is_a_break(const sw_error *error) {
    if (error->reason != SW_REASON_NONE) return error->reason == SW_REASON_SHUTTING_DOWN;
    return error->code == SW_OK || error->code == SW_UNAVAILABLE || error->code == SW_CANCELLED ||
           error->code == SW_INTERNAL || error->code == SW_UNKNOWN;
}

static void try_later(struct held *held, const sw_error *error) {
    sw_client *client = held->client;
    bool is_starting = held->state == HELD_STARTING;
    struct retry_case broken = {
        .status = SW_UNAVAILABLE,
        .reason = error->reason,
        .now_ms = loop_now_ms(client->loop),
        .deadline_ms = held->due_ms,
        .reached_once = is_starting && client->reached_once,
        .gone_since_ms = client->gone_since_ms,
        .endpoint_grace_ms = client->endpoint_grace_ms,
        .attempt = held->tries++,
        .random = client_random(client),
    };
    int64_t delay_ms = 0;
    held->failure = *error;
    enum retry_verdict verdict = retry_decide(&broken, &delay_ms);
    if (verdict == RETRY_LOST) {
        sw_error lost = *error;
        client_say_lost(client, &lost);
        fail(held, &lost);
    } else if (verdict == RETRY_AGAIN) {
        held->again_timer.run = run_again;
        loop_timer_set(client->loop, &held->again_timer, broken.now_ms + delay_ms);
    } /* else the due timer says it */
}

static void attempt_ended(struct attempt *attempt, const sw_error *ended) {
    struct held *held = held_of(attempt);
    sw_error error = *ended;
    client_ended(held->client, &error);
    if (held->is_closing) {
        go(held);
        return;
    }
    if (held->has_failed || !is_a_break(&error)) {
        end_with(held, held->has_failed ? &held->failure : &error);
        return;
    }
    if (held->state == HELD_STANDING) {
        int64_t now_ms = loop_now_ms(held->client->loop);
        set_state(held, HELD_BROKEN);
        set_due(held, now_ms, clock_after(now_ms, held->client->endpoint_grace_ms));
    }
    try_later(held, &error);
}

/* ---- from outside ---- */

static void cancel_member(struct member *member) {
    struct held *held = container_of(member, struct held, member);
    sw_error error;
    say_cancelled(held, &error);
    fail(held, &error);
}

static void run_begin(struct op *op, bool ok) {
    (void)ok;
    struct held *held = container_of(op, struct held, begin_op);
    if (!client_enter(held->client, &held->member)) {
        cancel_member(&held->member);
        return;
    }
    set_due(held, held->begun_ms, held->due_ms);
    try(held);
}

static void run_close(struct op *op, bool ok) {
    (void)ok;
    struct held *held = container_of(op, struct held, close_op);
    held->is_closing = true;
    clear_timers(held);
    if (attempt_under_way(&held->attempt))
        attempt_cancel(&held->attempt);
    else
        go(held);
}

static sw_status wait_until_it_stands(struct held *held, sw_error *error) {
    pthread_mutex_lock(&held->lock);
    enum waited waited = WAITED_WOKEN;
    while (held->state == HELD_STARTING && waited != WAITED_INTERRUPTED)
        waited = waiting(&held->changed, &held->lock, CLOCK_NEVER);
    sw_status status = held->state == HELD_ENDED ? held->error.code : SW_OK;
    if (status != SW_OK && error) *error = held->error;
    if (held->state == HELD_STARTING) status = waiting_interrupted(error);
    pthread_mutex_unlock(&held->lock);
    return status;
}

sw_status held_open(struct held *held, const struct held_ops *ops, sw_client *client, int64_t timeout_ms,
                    sw_error *error) {
    sw_status status = client_check(client, error);
    if (status == SW_OK) status = client_deadline(client, timeout_ms, &held->due_ms, error);
    if (status != SW_OK) return status;
    held->ops = ops;
    held->client = client;
    held->begun_ms = loop_now_ms(client->loop);
    held->member.cancel = cancel_member;
    held->begin_op.run = run_begin;
    held->close_op.run = run_close;
    pthread_mutex_init(&held->lock, NULL);
    waiting_init(&held->changed);
    loop_task_begins(client->loop);
    loop_post(client->loop, &held->begin_op);
    status = wait_until_it_stands(held, error);
    if (status != SW_OK) held_close(held);
    return status;
}

void held_close(struct held *held) {
    loop_post(held->client->loop, &held->close_op);
    pthread_mutex_lock(&held->lock);
    while (!held->is_gone) pthread_cond_wait(&held->changed, &held->lock);
    pthread_mutex_unlock(&held->lock);
    pthread_cond_destroy(&held->changed);
    pthread_mutex_destroy(&held->lock);
}

sw_status held_check(struct held *held, sw_error *error) {
    sw_status status = client_check(held->client, error);
    if (status != SW_OK) return status;
    pthread_mutex_lock(&held->lock);
    status = held->state == HELD_ENDED ? held->error.code : SW_OK;
    if (status != SW_OK && error) *error = held->error;
    pthread_mutex_unlock(&held->lock);
    return status;
}
