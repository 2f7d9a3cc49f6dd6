#include "proto/base/waiting.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include <stagewire/interrupt.h>

#include "proto/base/clock.h"
#include "proto/base/error.h"

#define ASK_EVERY_MS 50

static _Thread_local struct {
    bool (*is_interrupted)(void *context);
    void *context;
} question;

void sw_interrupt_set(bool (*is_interrupted)(void *context), void *context) {
    question.is_interrupted = is_interrupted;
    question.context = context;
}

void waiting_init(pthread_cond_t *changed) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

enum waited waiting_until(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms) {
    struct timespec until = {until_ms / 1000, until_ms % 1000 * 1000000};
    int ended = until_ms == CLOCK_NEVER ? pthread_cond_wait(changed, lock)
                                        : pthread_cond_timedwait(changed, lock, &until);
    return ended == ETIMEDOUT ? WAITED_LATE : WAITED_WOKEN;
}

int64_t waiting_ask_ms(void) {
    return question.is_interrupted ? clock_after(clock_now_ms(&clock_system), ASK_EVERY_MS) : CLOCK_NEVER;
}

bool waiting_ask(void) {
    if (!question.is_interrupted) return false;
    bool is_interrupted = question.is_interrupted(question.context);
    if (is_interrupted) question.is_interrupted = NULL;
    return is_interrupted;
}

/* Without the lock, because the answer may take other locks, such as an interpreter's. */
static bool ask(pthread_mutex_t *lock) {
    pthread_mutex_unlock(lock);
    bool is_interrupted = waiting_ask();
    pthread_mutex_lock(lock);
    return is_interrupted;
}

enum waited waiting(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms) {
    int64_t ask_ms = waiting_ask_ms();
    enum waited waited = waiting_until(changed, lock, until_ms < ask_ms ? until_ms : ask_ms);
    if (waited == WAITED_WOKEN || until_ms <= ask_ms) return waited;
    return ask(lock) ? WAITED_INTERRUPTED : WAITED_WOKEN;
}

sw_status waiting_interrupted(sw_error *error) {
    return error_set_code(error, SW_CANCELLED, SW_REASON_NONE, "interrupted while it waited");
}
