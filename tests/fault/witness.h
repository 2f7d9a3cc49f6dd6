/* What everybody saw: each actor, in this process or another, writes events into one pipe, and the judge
 * reads them. An event that is written before another begins is read before it: whoever begins a call says so
 * first, and says how it ended before he begins another. */
#ifndef STAGEWIRE_TESTS_FAULT_WITNESS_H
#define STAGEWIRE_TESTS_FAULT_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/client.h>

#include "tests/fault/truth.h"

/* A stage pulls, looks on and speaks at the same time, each as an actor of its own. */
enum actor {
    PULLER_0, /* to PULLER_0 + CONSUMERS - 1 */
    SPEAKER_0 = PULLER_0 + CONSUMERS,
    TRAINER = SPEAKER_0 + STAGES,
    WATCHER,      /* one watch from beginning to end */
    LATE_WATCHER, /* a watch anew now and then */
    INJECTOR,
    ACTORS
};

#define WHAT_MAP(X)                                                                                          \
    X(PUBLISH) /* begin and end */                                                                           \
    X(ATTACH)                                                                                                \
    X(PULL)     /* of a step that the consumer needs */                                                      \
    X(LOOK)     /* of a step that it has seen */                                                             \
    X(LATEST)   /* address of what came */                                                                   \
    X(RELEASE)  /* below step */                                                                             \
    X(EXCHANGE) /* step: the meeting */                                                                      \
    X(WATCH)                                                                                                 \
    X(LEASE) /* an end alone: the lease is no more */                                                        \
    X(SEEN)  /* by a watch */                                                                                \
    X(SEEN_FAILED)                                                                                           \
    X(SEEN_GAP) /* to next_step/next_call, or open-ended with next_step 0 */                                 \
    X(SEEN_GENERATION)                                                                                       \
    X(SEEN_CLOSED)                                                                                           \
    X(FAULT)                                                                                                 \
    X(HEALED)                                                                                                \
    X(ENDPOINT_ENDS) /* the injector: what it holds is lost from now on */                                   \
    X(STAGE_ENDS)    /* the injector: step is the stage whose process is killed */                           \
    X(QUIET)         /* no more faults */

enum what {
#define WHAT_ENUM(name) SAW_##name,
    WHAT_MAP(WHAT_ENUM)
#undef WHAT_ENUM
};

struct event {
    enum actor actor;
    enum what what;
    bool begins; /* of a call: its begin, else its end */
    bool right;  /* content, or message, as it should be */
    sw_item_kind kind;
    sw_status status;
    sw_reason reason;
    uint64_t generation, step, next_step;
    uint32_t call, next_call;
    int64_t at_ms, timeout_ms;
    char note[256];
};

struct witness {
    int fd;
    enum actor actor;
};

/* Fills in actor and time. */
void witness_say(const struct witness *witness, struct event event);
void witness_begin(const struct witness *witness, enum what what, sw_item_kind kind, const sw_address *at,
                   int64_t timeout_ms);
/* `error` is looked at where status is not SW_OK. */
void witness_end(const struct witness *witness, enum what what, sw_item_kind kind, const sw_address *at,
                 sw_status status, const sw_error *error, bool right);

const char *actor_name(enum actor actor);
/* In one line, ending with a newline. */
void event_print(const struct event *event, int64_t since_ms);
int64_t witness_now_ms(void);

#endif
