/* The store, the one lock around it, and the timer that lets it act when something is due. Any thread, but
 * where it says the loop's.
 *
 * What the store calls back runs under the lock on whatever thread caused it, so it only wakes the loop. */
#ifndef STAGEWIRE_SERVICE_GUARD_H
#define STAGEWIRE_SERVICE_GUARD_H

#include <pthread.h>

#include "proto/base/waiting.h"
#include "proto/transport/loop.h"
#include "service/store/store.h"

struct guard {
    struct store *store;
    struct loop *loop;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned waiting; /* threads in guard_wait */
    int64_t armed_ms; /* when the timer runs */
    struct loop_timer timer;
    struct wake rearm;
};

/* RESOURCE_EXHAUSTED without memory. */
sw_status guard_open(struct guard *guard, const struct store_options *options, struct loop *loop,
                     sw_error *error);
/* When the loop has stopped and nothing is linked to the store. */
void guard_close(struct guard *guard);

struct store *guard_lock(struct guard *guard);
void guard_unlock(struct guard *guard);
/* For what may have made room, ended a publish, or brought a drain nearer to its end: those who guard_wait
 * look again. */
void guard_unlock_changed(struct guard *guard);

/* Under the lock: gives it up until something may have changed, and takes it again. Not on the loop's
 * thread. */
enum waited guard_wait(struct guard *guard, int64_t until_ms);

#endif
