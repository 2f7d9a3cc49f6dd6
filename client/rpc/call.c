#include "client/rpc/call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/core/answer.h"
#include "client/rpc/call_attempts.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/waiting.h"

bool address_copy(struct arena *arena, const sw_address *address, sw_address *ret) {
    const char *run_id = address->run_id ? address->run_id : "";
    const char *channel = address->channel ? address->channel : "";
    *ret = *address;
    ret->run_id = arena_string(arena, run_id, strlen(run_id));
    ret->channel = arena_string(arena, channel, strlen(channel));
    return ret->run_id && ret->channel;
}

static void cancel_member(struct member *member) {
    call_cancel_now(container_of(member, struct sw_call, member));
}

sw_status call_init(struct sw_call *call, const struct call_ops *ops, sw_client *client,
                    const sw_address *address, sw_item_kind kind, int64_t timeout_ms, sw_error *error) {
    sw_status status = client_deadline(client, timeout_ms, &call->deadline_ms, error);
    if (status != SW_OK) return status;
    arena_init(&call->arena, &allocator_system, LIMIT_DECODE_BYTES);
    if (address && !address_copy(&call->arena, address, &call->address)) {
        arena_destroy(&call->arena);
        return error_no_memory(error);
    }
    if (address && !call->address.run_id[0]) call->address.run_id = client->run_id;
    call->ops = ops;
    call->client = client;
    call->kind = kind;
    call->begun_ms = loop_now_ms(client->loop);
    call->member.cancel = cancel_member;
    call->fd = -1;
    atomic_init(&call->holders, 1);
    pthread_mutex_init(&call->lock, NULL);
    waiting_init(&call->over);
    return SW_OK;
}

void call_fini(struct sw_call *call) {
    if (call->fd >= 0) close(call->fd);
    pthread_cond_destroy(&call->over);
    pthread_mutex_destroy(&call->lock);
    arena_destroy(&call->arena);
}

static void put(struct sw_call *call) {
    if (atomic_fetch_sub(&call->holders, 1) == 1) call->ops->destroy(call);
}

/* ---- from the loop ---- */

/* The client stays until it is done: whoever waits relies on that. */
void call_over(struct sw_call *call) {
    loop_task_ends(call->client->loop);
    pthread_mutex_lock(&call->lock);
    call->is_done = true;
    if (call->fd >= 0) eventfd_write(call->fd, 1);
    pthread_mutex_unlock(&call->lock);
    pthread_cond_broadcast(&call->over); /* who is woken finds the lock free */
    client_leave(call->client, &call->member);
    put(call);
}

static void run_begin(struct op *op, bool ok) {
    (void)ok;
    client_call_begin(container_of(op, struct sw_call, begin_op));
}

static void run_cancel(struct op *op, bool ok) {
    (void)ok;
    struct sw_call *call = container_of(op, struct sw_call, cancel_op);
    call_cancel_now(call);
    put(call);
}

/* ---- from the caller ---- */

static void prepare(struct sw_call *call) {
    loop_task_begins(call->client->loop);
    call->begin_op.run = run_begin;
}

static void hold_for_loop(struct sw_call *call) {
    atomic_fetch_add(&call->holders, 1);
    prepare(call);
}

void call_start_alone(struct sw_call *call) {
    prepare(call);
    loop_post(call->client->loop, &call->begin_op);
}

sw_status call_start(struct sw_call *call, sw_error *error) {
    sw_status status = client_check(call->client, error);
    if (status != SW_OK) return status;
    call->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (call->fd < 0)
        return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                              "no descriptor for a call: %m; raise the limit (ulimit -n)");
    hold_for_loop(call);
    loop_post(call->client->loop, &call->begin_op);
    return SW_OK;
}

/* On the loop's thread now: until it is done, or it is time to ask whether to go on. */
static void drive(struct sw_call *call, struct loop *loop, int64_t until_ms) {
    while (!sw_call_done(call) && loop_now_ms(loop) < until_ms) loop_step(loop, until_ms);
    loop_return(loop, !sw_call_done(call));
}

/* With the lock, as long as it is not done: so the client and the loop are there. */
static enum waited wait_or_want(struct sw_call *call, struct loop **ret_wanted) {
    struct loop *loop = call->client->loop;
    *ret_wanted = loop_want(loop) ? loop : NULL;
    return *ret_wanted ? WAITED_WOKEN : waiting(&call->over, &call->lock, CLOCK_NEVER);
}

static enum waited wait(struct sw_call *call) {
    struct loop *wanted = NULL;
    enum waited waited = WAITED_WOKEN;
    pthread_mutex_lock(&call->lock);
    if (!call->is_done) waited = wait_or_want(call, &wanted);
    pthread_mutex_unlock(&call->lock);
    if (!wanted) return waited;
    int64_t until_ms = waiting_ask_ms();
    if (loop_await(wanted, until_ms)) drive(call, wanted, until_ms);
    return !sw_call_done(call) && waiting_ask() ? WAITED_INTERRUPTED : WAITED_WOKEN;
}

sw_status call_wait(struct sw_call *call, sw_error *error) {
    sw_status status = sw_call_done(call) ? SW_OK : client_check(call->client, error);
    if (status != SW_OK) return status;
    enum waited waited = WAITED_WOKEN;
    while (!sw_call_done(call) && waited != WAITED_INTERRUPTED) waited = wait(call);
    if (!sw_call_done(call)) return waiting_interrupted(error);
    if (call->error.code != SW_OK && error) *error = call->error;
    return call->error.code;
}

sw_status call_run(struct sw_call *call, sw_error *error) {
    sw_status status = client_check(call->client, error);
    if (status != SW_OK) return status;
    struct loop *loop = call->client->loop;
    hold_for_loop(call);
    if (loop_want(loop) && loop_await(loop, 0)) {
        client_call_begin(call);
        drive(call, loop, waiting_ask_ms());
    } else {
        loop_post(loop, &call->begin_op);
    }
    return call_wait(call, error);
}

int sw_call_fd(const sw_call *call) {
    return call->fd;
}

bool sw_call_done(const sw_call *call) {
    pthread_mutex_t *lock = (pthread_mutex_t *)&call->lock;
    if (loop_forked()) return false;
    pthread_mutex_lock(lock);
    bool is_done = call->is_done;
    pthread_mutex_unlock(lock);
    return is_done;
}

void sw_call_progress(const sw_call *call, uint64_t *ret_arrived, uint64_t *ret_total) {
    *ret_arrived = call->bytes_arrived;
    *ret_total = call->bytes_in_all;
}

void sw_call_cancel(sw_call *call) {
    if (loop_forked() || atomic_exchange(&call->cancel_asked, true)) return;
    atomic_fetch_add(&call->holders, 1);
    call->cancel_op.run = run_cancel;
    loop_post(call->client->loop, &call->cancel_op);
}

/* Whatever interrupts the caller: the result's memory is written to until then. */
static void wait_for_the_end(struct sw_call *call) {
    pthread_mutex_lock(&call->lock);
    while (!call->is_done) pthread_cond_wait(&call->over, &call->lock);
    pthread_mutex_unlock(&call->lock);
}

void sw_call_destroy(sw_call *call) {
    if (!call) return;
    bool was_started = call->begin_op.run != NULL;
    if (was_started && loop_forked()) return; /* the thread that also holds it is not here */
    if (was_started && !sw_call_done(call)) {
        sw_call_cancel(call);
        wait_for_the_end(call);
    }
    put(call);
}

/* ---- words ---- */

const char *call_words(const struct sw_call *call, char *words) {
    words[0] = '\0';
    if (call->address.channel && call->address.channel[0])
        address_in_words(words, ADDRESS_WORDS_MAX, &call->address, call->kind);
    return words;
}

sw_status call_unreadable(const struct sw_call *call, const sw_error *why, sw_error *error) {
    if (why->code != SW_INVALID_ARGUMENT) {
        if (error) *error = *why;
        return why->code;
    }
    return answer_broken(error, &call->address, call->kind, "the answer is not readable", why);
}
