#include "proto/transport/driver.h"

#include "proto/base/clock.h"
#include "proto/base/waiting.h"

static _Thread_local const struct driver *mine; /* that this thread drives */

void driver_init(struct driver *driver) {
    pthread_mutex_init(&driver->lock, NULL);
    waiting_init(&driver->changed);
}

void driver_destroy(struct driver *driver) {
    pthread_cond_destroy(&driver->changed);
    pthread_mutex_destroy(&driver->lock);
}

bool driver_is_me(const struct driver *driver) {
    return mine == driver;
}

void driver_task_begins(struct driver *driver) {
    atomic_fetch_add(&driver->tasks, 1);
}

void driver_task_ends(struct driver *driver) {
    atomic_fetch_sub(&driver->tasks, 1);
}

/* ---- with the lock ---- */

static void take(struct driver *driver) {
    driver->is_driving = true;
    driver->outer = mine;
    mine = driver;
}

static void leave(struct driver *driver) {
    driver->is_driving = false;
    driver->left_ms = clock_now_ms(&clock_system);
    mine = driver->outer;
}

static void tell(struct driver *driver) {
    pthread_cond_broadcast(&driver->changed);
}

/* ---- the thread ---- */

/* When its turn comes if nobody says so before. */
static int64_t turn_ms(const struct driver *driver, int64_t now_ms) {
    if (driver->is_driving || atomic_load(&driver->is_wanted)) return now_ms + DRIVER_LOOK_EVERY_MS;
    return driver->rests ? driver->left_ms + DRIVER_LOOK_EVERY_MS : now_ms;
}

bool driver_thread_takes(struct driver *driver) {
    pthread_mutex_lock(&driver->lock);
    for (;;) {
        int64_t now_ms = clock_now_ms(&clock_system), due_ms = turn_ms(driver, now_ms);
        if (due_ms <= now_ms) break;
        waiting_until(&driver->changed, &driver->lock, due_ms);
    }
    take(driver);
    bool drives = !driver->rests;
    pthread_mutex_unlock(&driver->lock);
    return drives;
}

bool driver_thread_stays(const struct driver *driver) {
    return !atomic_load(&driver->is_wanted);
}

void driver_thread_leaves(struct driver *driver) {
    pthread_mutex_lock(&driver->lock);
    leave(driver);
    tell(driver);
    pthread_mutex_unlock(&driver->lock);
}

/* ---- posts ---- */

void driver_post_begins(struct driver *driver) {
    atomic_fetch_add(&driver->posts, 1);
}

void driver_post_is_queued(struct driver *driver) {
    pthread_mutex_lock(&driver->lock);
    if (driver->rests) tell(driver);
    driver->rests = false;
    pthread_mutex_unlock(&driver->lock);
}

void driver_post_ends(struct driver *driver) {
    atomic_fetch_sub(&driver->posts, 1);
}

/* ---- callers ---- */

bool driver_want(struct driver *driver) {
    pthread_mutex_lock(&driver->lock);
    bool is_alone = atomic_load(&driver->tasks) == 1 && !atomic_load(&driver->is_wanted);
    if (is_alone) atomic_store(&driver->is_wanted, true);
    pthread_mutex_unlock(&driver->lock);
    return is_alone;
}

static void want_no_more(struct driver *driver) {
    atomic_store(&driver->is_wanted, false);
    if (driver->is_stopping) tell(driver);
}

bool driver_await(struct driver *driver, int64_t until_ms, int64_t *ret_idle_ms) {
    pthread_mutex_lock(&driver->lock);
    enum waited waited = WAITED_WOKEN;
    while (driver->is_driving && waited != WAITED_LATE)
        waited = waiting_until(&driver->changed, &driver->lock, until_ms);
    bool is_mine = !driver->is_driving;
    if (is_mine) {
        take(driver);
        *ret_idle_ms = clock_now_ms(&clock_system) - driver->left_ms;
    } else {
        want_no_more(driver);
    }
    pthread_mutex_unlock(&driver->lock);
    return is_mine;
}

static bool is_idle(const struct driver *driver, bool is_back_soon) {
    return atomic_load(&driver->tasks) <= (is_back_soon ? 1u : 0u) && atomic_load(&driver->posts) == 0;
}

void driver_return(struct driver *driver, bool is_back_soon) {
    pthread_mutex_lock(&driver->lock);
    leave(driver);
    driver->rests = is_idle(driver, is_back_soon);
    if (!driver->rests) tell(driver);
    want_no_more(driver);
    pthread_mutex_unlock(&driver->lock);
}

void driver_stop(struct driver *driver) {
    pthread_mutex_lock(&driver->lock);
    driver->is_stopping = true;
    while (atomic_load(&driver->is_wanted)) pthread_cond_wait(&driver->changed, &driver->lock);
    pthread_mutex_unlock(&driver->lock);
}
