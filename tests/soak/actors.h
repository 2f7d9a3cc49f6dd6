/* Who publishes and who consumes, each a process of its own, so that it can be stopped and killed. What a
 * step holds follows from its number: so whoever receives it can compare every byte. */
#ifndef STAGEWIRE_TESTS_SOAK_ACTORS_H
#define STAGEWIRE_TESTS_SOAK_ACTORS_H

#include <stdatomic.h>
#include <stdint.h>

/* What an actor has done so far; lies in memory that outlives it. */
struct tally {
    _Atomic uint64_t steps, bytes;
    _Atomic uint64_t slowest_us; /* publish */
};

/* These end with the process: status 1, with words on stderr, when anything is not as promised. */

/* Tensors and metrics of one step after the other, as fast as they are taken. */
_Noreturn void actor_publish(const char *target, struct tally *tally);
/* Every next step's tensors; the newest held where that one has gone already. */
_Noreturn void actor_pull(const char *target, struct tally *tally);
/* The metrics, as they come. */
_Noreturn void actor_watch(const char *target, struct tally *tally);

#endif
