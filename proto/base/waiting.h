/* Waiting for a condition, in a way that sw_interrupt_set can end. */
#ifndef STAGEWIRE_BASE_WAITING_H
#define STAGEWIRE_BASE_WAITING_H

#include <pthread.h>
#include <stdint.h>

#include <stagewire/status.h>

enum waited {
    WAITED_WOKEN, /* look at what was waited for; it may be as before */
    WAITED_LATE,
    WAITED_INTERRUPTED, /* not to be waited for any longer, by the program's wish */
};

/* A condition that is timed by CLOCK_MONOTONIC. */
void waiting_init(pthread_cond_t *changed);
/* With `lock` held, which is released meanwhile. `until_ms` as clock_system says it, or CLOCK_NEVER. */
enum waited waiting(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms);

/* For who was interrupted: CANCELLED. */
sw_status waiting_interrupted(sw_error *error);

#endif
