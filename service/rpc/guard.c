#include "service/rpc/guard.h"

#include <sys/random.h>

#include "proto/base/error.h"
#include "proto/base/list.h"

static void set_timer(struct guard *guard, int64_t due_ms) {
    loop_timer_set(guard->loop, &guard->timer, due_ms);
}

static void run_tick(struct loop_timer *timer) {
    struct guard *guard = container_of(timer, struct guard, timer);
    struct store *store = guard_lock(guard);
    guard->armed_ms = CLOCK_NEVER;
    store_tick(store);
    guard_unlock_changed(guard);
}

static void run_rearm(struct wake *wake) {
    struct guard *guard = container_of(wake, struct guard, rearm);
    pthread_mutex_lock(&guard->mutex);
    int64_t due = guard->armed_ms;
    pthread_mutex_unlock(&guard->mutex);
    set_timer(guard, due);
}

static uint64_t random_number(void *context) {
    (void)context;
    uint64_t number = 0;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}

static const struct store_world world = {&clock_system, &allocator_system, random_number, NULL};

sw_status guard_open(struct guard *guard, const struct store_options *options, struct loop *loop,
                     sw_error *error) {
    struct store *store = store_create(options, &world);
    if (!store) return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for a store");
    *guard = (struct guard){
        .store = store, .loop = loop, .armed_ms = CLOCK_NEVER, .timer.run = run_tick, .rearm.run = run_rearm};
    pthread_mutex_init(&guard->mutex, NULL);
    waiting_init(&guard->changed);
    return SW_OK;
}

void guard_close(struct guard *guard) {
    store_destroy(guard->store);
    pthread_cond_destroy(&guard->changed);
    pthread_mutex_destroy(&guard->mutex);
}

struct store *guard_lock(struct guard *guard) {
    pthread_mutex_lock(&guard->mutex);
    return guard->store;
}

/* The lock goes last: whoever closes the endpoint may be waiting for it, and then nothing of the guard may be
 * touched. */
void guard_unlock(struct guard *guard) {
    int64_t due = store_due_ms(guard->store);
    if (due < guard->armed_ms) {
        guard->armed_ms = due;
        if (loop_is_current(guard->loop)) {
            set_timer(guard, due);
        } else {
            loop_wake(guard->loop, &guard->rearm);
        }
    }
    pthread_mutex_unlock(&guard->mutex);
}

void guard_unlock_changed(struct guard *guard) {
    if (guard->waiting > 0) pthread_cond_broadcast(&guard->changed);
    guard_unlock(guard);
}

enum waited guard_wait(struct guard *guard, int64_t until_ms) {
    guard->waiting++;
    enum waited waited = waiting(&guard->changed, &guard->mutex, until_ms);
    guard->waiting--;
    return waited;
}
