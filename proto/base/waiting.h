/* Waiting for a condition, in a way that sw_interrupt_set can end. */
#ifndef STAGEWIRE_BASE_WAITING_H
#define STAGEWIRE_BASE_WAITING_H

#include <pthread.h>
#include <stdbool.h>
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

/* The same, whatever interrupts. */
enum waited waiting_until(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms);

/* For who waits in another way: until when at most, and then what waiting_ask says. CLOCK_NEVER: nobody asks.
 */
int64_t waiting_ask_ms(void);
bool waiting_ask(void);

/* For who was interrupted: CANCELLED. */
sw_status waiting_interrupted(sw_error *error);

#endif
