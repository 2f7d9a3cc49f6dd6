#include "proto/device/give_back.h"

#include <pthread.h>
#include <stdbool.h>

#include "proto/base/limits.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list waiting = {&waiting, &waiting};
static size_t waiting_bytes; /* with what is being given back */
static bool has_thread;

static void give_back_first(void) {
    struct giving_back *job = container_of(waiting.next, struct giving_back, place);
    size_t size = job->size;
    list_remove(&job->place);
    pthread_mutex_unlock(&lock);
    job->run(job);
    pthread_mutex_lock(&lock);
    waiting_bytes -= size;
}

static void *give_back_all(void *nothing) {
    pthread_mutex_lock(&lock);
    while (!list_empty(&waiting)) give_back_first();
    has_thread = false;
    pthread_mutex_unlock(&lock);
    return nothing;
}

static bool start_thread(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, give_back_all, NULL) == 0 && pthread_detach(thread) == 0;
}

static bool leave_it_to_the_thread(struct giving_back *job) {
    if (waiting_bytes > 0 && waiting_bytes + job->size > LIMIT_GIVEN_BACK_LATER) return false;
    if (!has_thread && !start_thread()) return false;
    has_thread = true;
    waiting_bytes += job->size;
    list_append(&waiting, &job->place);
    return true;
}

/* ---- a child has what waits, and no thread ---- */

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&lock);
}

static void in_child(void) {
    has_thread = false;
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

void give_back(struct giving_back *job) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    bool is_later = leave_it_to_the_thread(job);
    pthread_mutex_unlock(&lock);
    if (!is_later) job->run(job);
}
