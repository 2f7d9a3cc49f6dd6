/* Which faults a campaign injects, and when: a function of its seed. Pure. */
#ifndef STAGEWIRE_TESTS_FAULT_SCHEDULE_H
#define STAGEWIRE_TESTS_FAULT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/relay.h"

/* X(name, how often of 100, held) */
#define FAULT_MAP(X)                                                                                         \
    X(DELAY, 8, true)                                                                                        \
    X(STALL, 8, true)                                                                                        \
    X(STALL_ONE_WAY, 6, true)                                                                                \
    X(CUT, 8, false)                                                                                         \
    X(CUT_AFTER, 16, false)                                                                                  \
    X(RESET, 6, false)                                                                                       \
    X(RESET_AFTER, 10, false)                                                                                \
    X(HALF_CLOSE, 6, false)                                                                                  \
    X(REFUSE, 6, true)                                                                                       \
    X(DUPLICATE, 6, true)                                                                                    \
    X(TURN_BIT, 6, false)                                                                                    \
    X(ENDPOINT_KILLED, 2, false)                                                                             \
    X(ENDPOINT_DRAINED, 2, false)                                                                            \
    X(ENDPOINT_STOPPED, 3, true)                                                                             \
    X(STAGE_KILLED, 2, false)                                                                                \
    X(STAGE_STOPPED, 3, true)                                                                                \
    X(TRAINER_RESTARTED, 2, false)

enum fault_kind {
#define FAULT_ENUM(name, often, held) FAULT_##name,
    FAULT_MAP(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_KINDS
};

/* Stages 0 to 2, the trainer beside the endpoint, those who watch. */
enum { RELAYS = 5, RELAY_TRAINER = 3, RELAY_WATCHERS = 4 };

struct fault {
    enum fault_kind kind;
    unsigned relay; /* of those that concern the network */
    enum relay_way way;
    uint64_t bytes;   /* CUT_AFTER, RESET_AFTER */
    int64_t hold_ms;  /* of those that are held */
    int64_t delay_ms; /* DELAY */
    unsigned gap;     /* so many events after the one before */
};

struct fault fault_of(uint64_t seed, uint64_t index);
bool fault_is_held(enum fault_kind kind);
const char *fault_name(enum fault_kind kind);
/* FAULT_KINDS if there is none of that name. */
enum fault_kind fault_from_name(const char *name);
/* "cut after 1234 bytes to the client of stage 1" */
void fault_words(const struct fault *fault, char ret[160]);

#endif
