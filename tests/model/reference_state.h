/* What the reference remembers. Nothing is ever removed: what is over is marked so, and all belongs to a
 * generation. */
#ifndef STAGEWIRE_TESTS_MODEL_REFERENCE_STATE_H
#define STAGEWIRE_TESTS_MODEL_REFERENCE_STATE_H

#include "tests/model/mutants.h"
#include "tests/model/operation.h"
#include "tests/model/outcome.h"

enum { CHANNELS_MAX = 512, STAGES_MAX = 512, CURSORS_MAX = 8192, WORDS_MAX = 8 };
enum { KEPT_DIGESTS = 64, NONE = -1, REFERENCE_NEVER = -1 };

struct position {
    uint64_t step;
    uint32_t call;
};

static inline bool is_before(struct position a, struct position b) {
    return a.step != b.step ? a.step < b.step : a.call < b.call;
}

static inline bool is_same(struct position a, struct position b) {
    return a.step == b.step && a.call == b.call;
}

struct closing {
    sw_close_reason reason; /* 0: open */
    int message;
};

struct channel {
    uint64_t generation;
    uint32_t stage, group;
    int name;
    sw_item_kind kind;
    bool declared;
    struct policy policy;
    uint64_t next_step;
    uint64_t below[CONSUMERS], pins_below[CONSUMERS];
    bool dropped[CONSUMERS];
    struct closing closing;
};

/* In the order of publication, over all channels. */
struct item {
    int channel;
    struct position at;
    bool failed, held;
    uint32_t value; /* or the message of a failure */
    uint64_t size;
    int order; /* of publication, among all that gives way to make room */
    int streams;
    int64_t pin_until;             /* REFERENCE_NEVER: no pin */
    bool streamed_by[CONSUMERS];   /* that had yet to end its pin */
    bool streamed_by_other, ended; /* by anybody else; its pin, by all */
};

struct publish {
    bool open, known, same;
    int handle, channel;
    struct position at;
    uint32_t value;
    uint64_t size;
};

struct lease {
    bool held, pending;
    int handle;
    uint64_t generation; /* asked for, while pending */
    uint32_t stage, group, stage_count;
};

/* (stage, group) in the current generation. */
struct stage {
    uint64_t generation;
    uint32_t stage, group;
    bool lost;
    int64_t lost_at; /* REFERENCE_NEVER: no grace runs */
    struct closing closing;
};

struct meeting {
    uint64_t generation; /* 0: the first one, to come */
    uint32_t group;
    int name;
    struct position at;
    uint32_t stage_count;
    struct word {
        bool spoken, present;
        uint32_t value;
    } words[WORDS_MAX];
    uint64_t value_size; /* of the only owner's value */
    bool value_gone;     /* to make room */
    int order;           /* of completion, as an item's; 0: some are silent */
    bool over;           /* nobody finds it any more, because */
    bool evicted;        /* newer ones took its place, */
    bool conflicts;      /* or it says otherwise than one that named the generation */
};

/* A pull or a word that is, or was, without answer. */
struct wait {
    bool waiting;
    const struct operation *operation;
    uint64_t generation; /* 0: the first one, to come */
    uint32_t stage;
    int meeting;
    int64_t until;
};

/* What a pull got and keeps open. */
struct stream {
    bool open;
    int handle, item;
};

struct watch {
    bool open;
    const struct operation *operation;
    uint64_t generation_due; /* 0: nothing to tell */
};

/* Where a watch stands in a channel. */
struct cursor {
    int watch, channel;
    struct position next; /* the next item to tell */
    bool ahead;           /* its position is of a generation to come */
    bool gap_due;
    bool loss_due, closing_due;
    int loss_place, closing_place; /* items that had been published before */
};

struct reference {
    struct setting setting;
    enum mutant mutant;
    int64_t now;
    uint64_t generation; /* 0: none yet */
    bool draining, drained;
    int64_t drain_until;

    struct item items[OPERATIONS_MAX];
    struct channel channels[CHANNELS_MAX];
    struct publish publishes[OPERATIONS_MAX];
    struct lease leases[OPERATIONS_MAX];
    struct stage stages[STAGES_MAX];
    struct meeting meetings[OPERATIONS_MAX];
    struct meeting floors[2 * OPERATIONS_MAX]; /* in their rooms those below are gone */
    struct wait waits[OPERATIONS_MAX];
    struct stream streams[OPERATIONS_MAX];
    struct watch watches[OPERATIONS_MAX];
    struct cursor cursors[CURSORS_MAX];
    int orders;
    uint64_t consumers_dropped;
    int floor_count, item_count, channel_count, publish_count, lease_count, stage_count, meeting_count,
        wait_count, stream_count, watch_count, cursor_count;

    int pins[OPERATIONS_MAX]; /* of a pull's handle: 1 + the item that it streamed */
    struct outcome *outcome;  /* of the operation being applied */
};

static inline bool is_broken(const struct reference *r, enum mutant mutant) {
    return r->mutant == mutant;
}

/* ---- channels and stages (reference_channel.c) ---- */

int ref_channel_find(const struct reference *r, uint32_t stage, uint32_t group, int name, sw_item_kind kind);
int ref_channel_get(struct reference *r, uint32_t stage, uint32_t group, int name, sw_item_kind kind);
struct stage *ref_stage_get(struct reference *r, uint32_t stage, uint32_t group);
/* NONE if the channel never had an item. */
int ref_channel_latest(const struct reference *r, int channel);
int ref_channel_oldest_held(const struct reference *r, int channel);
int ref_channel_item_at(const struct reference *r, int channel, struct position at);
int ref_channel_items(const struct reference *r, int channel);
/* Held, or one of the last 64. */
bool ref_item_is_known(const struct reference *r, int item);
bool ref_item_is_pinned(const struct reference *r, int item);
/* Below the latest and not held: was it published here, or may it have been? */
bool ref_position_is_gone(const struct reference *r, int channel, struct position at);
bool ref_step_is_needed(const struct reference *r, int channel, uint64_t step, const bool *but);
bool ref_is_expected(const struct channel *channel, int consumer);
/* Marks the consumers that are behind by more than they may, counting `extra` (NULL is fine) as a held step.
 */
void ref_find_laggards(const struct reference *r, int channel, const uint64_t *extra, bool *ret_laggards);
/* They are counted, and observers for the rest of the generation. */
void ref_drop(struct reference *r, int channel, const bool *laggards);
/* Drops laggards, and lets go of what may go. */
void ref_channel_trim(struct reference *r, int channel);
void ref_step_evict(struct reference *r, int channel, uint64_t step);
/* It is held no longer. */
void ref_item_goes(struct reference *r, int item);
/* Ends pins until what has gone and lives on for them fits. */
void ref_bound_pinned(struct reference *r);
uint64_t ref_pinned_bytes(const struct reference *r);
const char *ref_consumers_as_json(const bool *consumers, char *text);
sw_reason ref_resolve_stage(const struct reference *r, const struct operation *o, uint32_t *ret_stage,
                            struct reply *refusal);

/* ---- publishing (reference_publish.c) ---- */

struct reply ref_publish(struct reference *r, const struct operation *o);
struct reply ref_publish_failure(struct reference *r, const struct operation *o);
struct reply ref_publish_open(struct reference *r, const struct operation *o);
struct reply ref_publish_end(struct reference *r, const struct operation *o, bool whole);
struct reply ref_close_channel(struct reference *r, const struct operation *o);
enum { ALL_CHANNELS = -1 };
/* Ends the open publishes of a channel, or all. */
void ref_end_publishes(struct reference *r, int channel, sw_reason reason);

/* ---- room (reference_room.c) ---- */

uint64_t ref_used_bytes(const struct reference *r, sw_item_kind kind);
/* Makes room in the budget of a kind, or changes nothing: then *ret_holders are the consumers that hold it
 * up. `channel` asks for `step`; NONE where it is an exchange. */
bool ref_make_room(struct reference *r, sw_item_kind kind, int channel, uint64_t step, uint64_t size,
                   bool *ret_holders);

/* ---- leases and generations (reference_lease.c) ---- */

struct reply ref_attach(struct reference *r, const struct operation *o);
void ref_detach(struct reference *r, int handle);
void ref_begin_generation(struct reference *r, uint64_t generation);
void ref_end_graces(struct reference *r);
void ref_end_pending_leases(struct reference *r, sw_reason reason);

/* ---- pulling (reference_pull.c) ---- */

struct reply ref_pull(struct reference *r, const struct operation *o);
struct reply ref_release(struct reference *r, const struct operation *o);
void ref_stream_finish(struct reference *r, int handle);
void ref_wait_cancel(struct reference *r, int handle);
struct reply ref_pull_answer(struct reference *r, const struct wait *wait);
struct reply ref_wait_or_answer(struct reference *r, struct wait wait);
/* Answers all waits whose answer has become certain. */
void ref_settle(struct reference *r);

/* ---- exchanging (reference_exchange.c) ---- */

struct reply ref_exchange(struct reference *r, const struct operation *o);
struct reply ref_word_answer(struct reference *r, const struct wait *wait);
void ref_add_silent(const struct reference *r, const struct wait *wait, struct reply *reply);
/* What its value takes of the budget. */
uint64_t ref_meeting_bytes(const struct reference *r, int meeting);
/* Words for the first generation, whatever it is, are for this one. */
void ref_adopt_meetings(struct reference *r);

/* ---- watching (reference_watch.c) ---- */

struct reply ref_watch(struct reference *r, const struct operation *o);
void ref_watch_stop(struct reference *r, int handle);
void ref_watch_read(struct reference *r, int handle);
void ref_watch_read_all(struct reference *r);
void ref_watch_channel_created(struct reference *r, int channel);
void ref_watch_channel_closed(struct reference *r, int channel);
void ref_watch_stage_lost(struct reference *r, uint32_t stage, uint32_t group);
void ref_watch_generation_begun(struct reference *r);

/* ---- info (reference_info.c) ---- */

void ref_info(struct reference *r, const struct operation *o);

#endif
