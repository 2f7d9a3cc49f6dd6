#include "proto/transport/forked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "proto/transport/loop.h"

static atomic_uint loops;
static atomic_bool forked;

static void in_child(void) {
    if (atomic_load(&loops) > 0) atomic_store(&forked, true);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, in_child);
}

void forked_loop_begins(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    atomic_fetch_add(&loops, 1);
}

void forked_loop_ended(void) {
    atomic_fetch_sub(&loops, 1);
}

bool loop_forked(void) {
    return atomic_load(&forked);
}
