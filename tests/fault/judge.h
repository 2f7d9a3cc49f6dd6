/* Checks what everybody saw against the contract, event by event. */
#ifndef STAGEWIRE_TESTS_FAULT_JUDGE_H
#define STAGEWIRE_TESTS_FAULT_JUDGE_H

#include <stdarg.h>

#include "tests/fault/facts.h"
#include "tests/fault/part.h"
#include "tests/fault/schedule.h"
#include "tests/fault/witness.h"

enum { LAST_EVENTS = 48, MARGIN_MS = 20000 };

struct call_facts {
    bool is_open;
    struct event begin;
    uint32_t epoch;
    uint64_t acked; /* LATEST: what was there when it began */
    bool was_there; /* PULL, LOOK: the item, or a later one */
    bool had_met;   /* EXCHANGE: the meeting had ended */
    bool in_quiet;
    uint64_t releases; /* PULL: steps below are released by it */
};

struct watch_facts {
    bool has_last;
    uint64_t generation, place; /* of what was told last */
    uint32_t epoch;             /* in which it was told */
};

struct counts {
    uint64_t events, published, pulled, failed, evicted, skipped, not_yet, superseded, unanswered, met, seen,
        gaps, checksums, refused;
};

struct judge {
    struct facts facts;
    struct call_facts calls[ACTORS];
    struct watch_facts watches[ACTORS];
    struct counts counts;
    uint64_t turned_bits;    /* planned so far */
    uint32_t attached_epoch; /* the newest in which something was published */
    bool drains;             /* has the endpoint ever been told to */
    bool is_quiet, has_failed, is_verbose;
    int64_t begun_ms, worst_overshoot_ms;
    unsigned late_answers;
    struct event last[LAST_EVENTS];
    char worst_note[128];
    sw_address pulled[CONSUMERS]; /* the tensors that each got last */
    unsigned quiet_meetings[STAGES];
};

void judge_init(struct judge *judge, uint64_t seed, bool is_verbose);
void judge_destroy(struct judge *judge);
void judge_take(struct judge *judge, const struct event *event);
/* Calls that should have been answered long ago. */
void judge_look_for_overdue(struct judge *judge);
/* Prints what is wrong; the first time also the last events. */
void judge_fail(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Everything has worked again since it became quiet: all have the last step, and meet. */
bool judge_all_is_well(const struct judge *judge, uint64_t generation, uint64_t last_step);
/* What it still waits for. */
void judge_print_missing(const struct judge *judge, uint64_t generation, uint64_t last_step);

/* The parts of it. */
void judge_pull(struct judge *judge, const struct call_facts *call, const struct event *end);
void judge_exchange(struct judge *judge, const struct call_facts *call, const struct event *end);
void judge_watch(struct judge *judge, const struct event *event);
/* Nobody answered, or not the endpoint: fine while there are faults. */
void judge_unanswered(struct judge *judge, const struct call_facts *call, const struct event *end);

static inline sw_address address_of(const struct event *event) {
    return (sw_address){.generation = event->generation, .step = event->step, .call = event->call};
}
#define at_words(event) (event)->generation, (event)->step, (event)->call

#endif
