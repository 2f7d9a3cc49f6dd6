/* Who does a loop's work, one at a time: its own thread, or a caller who waits for the one thing that is
 * under way. Such a caller wakes nobody and needs nobody to wake it, and that is most of what a small call
 * costs.
 *
 * When it leaves, and nothing is under way, the thread rests: it only looks in now and then, so that what the
 * other side says of the connection is heard. Functions are for any thread unless they say otherwise. */
#ifndef STAGEWIRE_TRANSPORT_DRIVER_H
#define STAGEWIRE_TRANSPORT_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DRIVER_LOOK_EVERY_MS 1000

struct driver {
    atomic_uint tasks;     /* under way */
    atomic_uint posts;     /* on their way to who drives */
    atomic_bool is_wanted; /* by a caller, who drives or waits for its turn; changes with lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_driving; /* somebody; with lock, as all below */
    bool rests;      /* the thread */
    bool is_stopping;
    int64_t left_ms;            /* when somebody drove last */
    const struct driver *outer; /* what who drives it drives too, if anything */
};

void driver_init(struct driver *driver);
void driver_destroy(struct driver *driver);

/* A task begins and ends: something that somebody waits for, or that stands. A caller drives only if its own
 * is the only one. */
void driver_task_begins(struct driver *driver);
void driver_task_ends(struct driver *driver);

/* A post begins before it is queued; once it is, nobody else may be there to take it. */
void driver_post_begins(struct driver *driver);
void driver_post_is_queued(struct driver *driver);
void driver_post_ends(struct driver *driver);

/* The loop's thread waits for its turn. False: it rests, and only looks in. Either way it leaves then. */
bool driver_thread_takes(struct driver *driver);
/* Whether it goes on: nobody else wants to drive. */
bool driver_thread_stays(const struct driver *driver);
void driver_thread_leaves(struct driver *driver);

/* A caller, whose task has begun, wants to drive. True: until driver_await or driver_return says otherwise
 * the driver stays, whatever becomes of the task. */
bool driver_want(struct driver *driver);
/* It waits for its turn. True: it drives, until driver_return, and nobody did for *ret_idle_ms. */
bool driver_await(struct driver *driver, int64_t until_ms, int64_t *ret_idle_ms);
/* `is_back_soon`: its task is not over. */
void driver_return(struct driver *driver, bool is_back_soon);

/* Waits until no caller wants to drive. None may come any more. */
void driver_stop(struct driver *driver);

/* Whether it is this thread that drives. */
bool driver_is_me(const struct driver *driver);

#endif
