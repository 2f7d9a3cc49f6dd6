/* The store's own structs, and what its files offer each other, a section a file. Start with store.h. */
#ifndef STAGEWIRE_SERVICE_STORE_INTERNAL_H
#define STAGEWIRE_SERVICE_STORE_INTERNAL_H

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "service/store/history.h"
#include "service/store/item.h"
#include "service/store/queue.h"
#include "service/store/store.h"
#include "service/store/table.h"

/* Timers that are due at the same time run in this order: a loss answers a wait that ends with it. */
enum timer_kind { TIMER_GRACE, TIMER_PIN, TIMER_PULL, TIMER_WORD, TIMER_DRAIN };

/* Bytes that may be held. Who holds something and can give its oldest up is a giver, in order of that
 * oldest's publication. */
struct budget {
    const char *option; /* the setting that raises it */
    uint64_t capacity, used, freeable;
    struct queue givers;
    struct list declared; /* channels with expected consumers */
};

struct giver {
    struct queue_node place;
    struct budget *budget;
    uint64_t freeable;
    void (*give)(struct store *store, struct giver *giver); /* gives its oldest up */
};

struct store {
    struct store_options options;
    struct store_world world;
    uint64_t hash_seed;
    uint64_t generation; /* 0: none yet */
    uint64_t sequence;   /* of publications, losses and closings */

    struct table channels;         /* by (stage, group, kind, name), of the current generation */
    struct table channels_by_name; /* by (group, kind, name) */
    struct list channels_in_order; /* of creation */
    uint64_t channels_created;
    uint64_t channels_needed; /* that hold a step which an expected consumer needs */
    uint64_t consumers_dropped;

    struct table stages; /* by (stage, group) */
    struct list mute;    /* stages that are lost or closed */

    struct budget tensors, rest;
    struct table pins;      /* items whose pin stands */
    struct queue idle_pins; /* of them, those that have gone and have no stream: the oldest first */
    uint64_t pinned_bytes;  /* of items that have gone */
    uint64_t streams;

    struct table waiting_by_key;
    struct list waiting; /* every struct store_waiting */
    uint64_t waiters;    /* pulls and words that wait */

    struct table meetings; /* struct meetings by (generation, group, channel) */
    struct list meetings_in_order;
    struct list waiting_meetings; /* with words that wait */

    struct list pending; /* leases */
    struct list watches;
    uint32_t publish_count, lease_count, watch_count;

    struct queue timers;
    struct queue_node drain_end;
    int64_t drain_end_ms;
    bool draining;
};

static inline int64_t store_now(const struct store *store) {
    return clock_now_ms(store->world.clock);
}
static inline void *store_get(const struct store *store, size_t size) {
    return allocator_get(store->world.allocator, size);
}
static inline void store_put(const struct store *store, void *memory) {
    allocator_put(store->world.allocator, memory);
}
static inline uint64_t store_random(const struct store *store) {
    return store->world.random(store->world.random_context);
}
/* `run_id` of a request names another run than this. */
bool store_is_other_run(const struct store *store, const char *run_id);

/* ---- closing.c: why a channel or a (stage, group) is closed; one for many channels ---- */

struct closing {
    uint32_t references;
    sw_close_reason reason;
    char message[];
};

struct closing *closing_create(struct store *store, sw_close_reason reason, const char *message);
struct closing *closing_ref(struct closing *closing); /* takes NULL */
void closing_unref(struct store *store, struct closing *closing);
bool closing_is(const struct closing *closing, sw_close_reason reason, const char *message);

/* ---- stage.c: (stage, group) ---- */

struct store_stage {
    struct table_node by_number;
    uint32_t number, group;
    uint32_t stage_count; /* as its last lease said */
    struct list channels;
    struct list waiting; /* struct store_waiting of any generation */
    struct list leases;
    uint32_t holds; /* that keep it: leases that may be granted, and who is about to use it */
    bool lost;
    struct closing *closed; /* all its channels, those never seen included */
    struct list mute;       /* in store.mute */
    struct queue_node grace;
};

struct store_stage *stage_find(const struct store *store, uint32_t number, uint32_t group); /* or NULL */
/* Made where there is none; NULL without memory. Give it back with stage_put if nothing came of it. */
struct store_stage *stage_get(struct store *store, uint32_t number, uint32_t group);
void stage_put(struct store *store, struct store_stage *stage); /* frees it unless something is known of it */
void stage_lose(struct store *store, struct store_stage *stage);
void stage_find_again(struct store *store, struct store_stage *stage); /* it is no longer lost */
void stage_close(struct store *store, struct store_stage *stage, struct closing *closing);
void stage_forget(struct store *store, struct store_stage *stage); /* a generation's losses and closings */
/* Whether names made up without end have filled it. */
bool stage_table_full(const struct store *store);

/* ---- policy.c: how a channel is kept, and by whom it is needed ---- */

struct consumer {
    const char *id;
    uint64_t below;          /* has released every step below */
    uint64_t pins_below;     /* will name no pin of a step below any more */
    uint64_t streamed_below; /* has begun no stream of a step from here on */
    bool dropped;            /* was too far behind: an observer from then on */
};

struct policy {
    uint32_t keep_steps, max_lag_steps;
    uint64_t minimum;    /* steps from here on are needed; UINT64_MAX: none is */
    uint32_t at_minimum; /* consumers that hold it there */
    uint32_t count;
    struct consumer consumers[]; /* by id */
};

struct policy *policy_create(struct store *store, const sw_channel_policy *declared);
bool policy_same(const struct policy *a, const struct policy *b);
struct consumer *policy_consumer(struct policy *policy, const char *id); /* or NULL */
/* The lowest step that a consumer which is not dropped and has released more than `line` has yet to release.
 */
uint64_t policy_minimum_above(const struct policy *policy, uint64_t line);
void policy_measure(struct policy *policy);

/* What a list of policies declares, made ready so that declaring cannot fail. */
struct declaration {
    struct store_channel *channel;
    bool fresh;            /* not yet among the store's channels */
    struct policy *policy; /* NULL where the channel has its policy */
    uint64_t next_step;
};
struct declarations {
    struct declaration *list;
    uint32_t count;
};
sw_status declarations_prepare(struct store *store, const sw_attachment *request, uint64_t generation,
                               struct declarations *ret, sw_error *error);
void declarations_apply(struct store *store, struct declarations *declarations);
void declarations_discard(struct store *store, struct declarations *declarations);

/* ---- channel.c ---- */

struct channel_key {
    uint32_t stage, group;
    sw_item_kind kind;
    const char *name;
};

struct store_channel {
    struct table_node by_key, by_name;
    struct list in_order, in_stage;
    struct list in_declared; /* of its budget: it has expected consumers */
    struct store_stage *stage;
    uint64_t number; /* the n-th of its generation */
    sw_item_kind kind;
    struct history history;
    struct item *newest_good;   /* the newest held that is no failure */
    struct policy *policy;      /* NULL until it is declared */
    uint64_t next_step;         /* steps below were published before this endpoint began */
    bool needed;                /* counted in store.channels_needed */
    struct giver giver;         /* of steps that no expected consumer needs */
    struct closing *closed;     /* NULL while it is open */
    struct list publishes;      /* open ones */
    struct store_publish *open; /* the one that has its next place */
    struct store_waiting *waiting;
    struct list cursors; /* of watches */
    char name[];
};

struct store_channel *channel_find(const struct store *store, const struct channel_key *key); /* or NULL */
/* Not yet among the store's channels, for a generation that may only begin: admit or discard it. NULL without
 * memory. */
struct store_channel *channel_create(struct store *store, const struct channel_key *key, uint64_t generation);
void channel_admit(struct store *store, struct store_channel *channel);
void channel_discard(struct store *store, struct store_channel *channel);
/* Its generation is over. */
void channel_remove(struct store *store, struct store_channel *channel);
uint64_t channel_hash(const struct store *store, const struct channel_key *key);
/* The next channel of (group, kind, name), whatever the stage; NULL begins, NULL ends. */
struct store_channel *channel_of_any_stage(const struct store *store, const struct channel_key *key,
                                           const struct store_channel *after);
/* The stage of a pull or release that names none. AMBIGUOUS_STAGE. */
sw_status channel_settle_stage(const struct store *store, const sw_address *address, sw_item_kind kind,
                               uint32_t *ret_stage, sw_error *error);
struct budget *channel_budget(struct store *store, sw_item_kind kind);
sw_address channel_address(const struct store *store, const struct store_channel *channel, struct at at);
sw_address channel_latest_address(const struct store *store, const struct store_channel *channel);
/* Below the latest, or below next_step, and not held: true if it was published, or may have been. */
bool channel_has_forgotten(const struct store_channel *channel, struct at at);

/* ---- publish.c: who writes into which channel, and the table of a publish ---- */

struct writer {
    struct store_channel *channel;
    sw_address address; /* resolved */
    bool fresh;         /* not yet among the store's channels */
};
/* The rows before content: run, going down, generation. Finds or makes the channel. */
sw_status writer_check(const struct store *store, const sw_address *address, sw_item_kind kind,
                       sw_address *ret, sw_error *error);
sw_status writer_open(struct store *store, const sw_address *address, sw_item_kind kind, struct writer *ret,
                      sw_error *error);
/* The channel exists from now on, and so does its generation: also where content is refused. Again is fine,
 * and so is after writer_starve. */
void writer_admit(struct store *store, struct writer *writer);
/* Without memory nothing has changed: its channel goes if it is new. Returns LIMIT. */
sw_status writer_starve(struct store *store, struct writer *writer, sw_error *error);

struct proposal {
    bool failed;
    bool has_digest; /* a tensor publish has none at its manifest */
    struct digest digest;
};
/* Same content (*ret_duplicate), other content, below the latest, closed, in progress. */
sw_status publish_place(const struct writer *writer, const struct proposal *proposal, bool *ret_duplicate,
                        sw_error *error);
/* Publishes an item that has its room: nothing can fail any more. */
void publish_commit(struct store *store, struct store_channel *channel, struct item *item);

/* ---- tensors.c ---- */

/* Ends the open publishes of a channel with STALE_GENERATION, CHANNEL_CLOSED or SHUTTING_DOWN. */
void publishes_end(struct store *store, struct store_channel *channel, sw_reason reason);

/* ---- keep.c: retention and lag ---- */

/* Consumers that have not released the step *ret_line are too far behind once `step` is published. False:
 * nobody is. */
bool keep_lag_line(const struct store *store, const struct store_channel *channel, uint64_t step,
                   uint64_t *ret_line);
void keep_drop(struct store *store, struct store_channel *channel, uint64_t line);
/* Lets go what may go: laggards, then steps that are released and beyond keep_steps. */
void keep_trim(struct store *store, struct store_channel *channel);
void keep_release(struct store *store, struct store_channel *channel,
                  const struct consumer_request *consumer);
void keep_drop_step(struct store *store, struct store_channel *channel);
/* After a change of what is held or needed: what it can give up, and whether it holds a needed step. */
void keep_settle(struct store *store, struct store_channel *channel);
uint64_t keep_minimum(const struct store_channel *channel);

/* ---- room.c: budgets ---- */

void budget_init(struct budget *budget, const char *option, uint64_t capacity);
void giver_init(struct giver *giver, struct budget *budget, void (*give)(struct store *, struct giver *));
/* What it can give up in all, and the sequence of its oldest; 0: it has none to give. */
void giver_settle(struct giver *giver, uint64_t freeable, uint64_t oldest_sequence);
/* Makes room for `size` bytes at `address` in the channel, or STORE_FULL and nothing has gone. */
sw_status room_make(struct store *store, struct store_channel *channel, const sw_address *address,
                    uint64_t size, sw_error *error);
/* The same for who is no channel: false where it can't suffice. */
bool budget_make_room(struct store *store, struct budget *budget, uint64_t size);

/* ---- pins.c ---- */

/* The item of a pin that stands, or NULL. */
struct item *pins_find(const struct store *store, uint64_t pin);
void pins_begin_stream(struct store *store, struct item *item, const char *consumer);
void pins_end_stream(struct store *store, struct item *item);
/* It has gone from its channel. Once all that goes together has gone: pins_fit. */
void pins_item_gone(struct store *store, const struct store_channel *channel, struct item *item);
/* Ends idle pins, the oldest first, until what has gone fits again. */
void pins_fit(struct store *store);
void pins_due(struct store *store, struct item *item);

/* ---- pull.c ---- */

/* A pull that waits, once more through the table: true if it is answered now. */
bool pull_settle(struct store *store, struct store_pull *pull);
/* Its wait is over. */
void pull_end_wait(struct store *store, struct store_pull *pull);
sw_address pull_address(const struct store *store, const struct store_pull *pull);
int64_t wait_until(const struct store *store, int64_t until_ms);

/* ---- waiting.c: the pulls that wait for one channel ---- */

struct store_waiting {
    struct table_node by_key;
    struct list in_store, in_stage;
    uint64_t generation; /* 0: the first that begins */
    struct store_stage *stage;
    sw_item_kind kind;
    struct queue by_place;
    struct list latest;
    uint64_t count;
    char name[];
};

/* False without memory. */
bool waiting_enter(struct store *store, struct store_pull *pull, const struct channel_key *key,
                   int64_t until_ms);
void waiting_leave(struct store *store, struct store_pull *pull);
struct store_waiting *waiting_find(const struct store *store, const struct channel_key *key,
                                   uint64_t generation);
/* Something was published at `at`: whoever waits for it, or below it, or for the latest. */
void waiting_published(struct store *store, struct store_channel *channel, struct at at);
void waiting_below(struct store *store, struct store_channel *channel, uint64_t step);
/* Everybody, after a closing, a loss or a drain. */
void waiting_settle(struct store *store, struct store_waiting *waiting);
void waiting_settle_stage(struct store *store, struct store_stage *stage);
void waiting_settle_all(struct store *store);
/* The generation has begun: older ones are superseded, those for the first one wait for this. */
void waiting_begin(struct store *store);

/* ---- release.c ---- */

void release_apply(struct store *store, const struct channel_key *key, uint64_t generation,
                   const struct consumer_request *consumer);

/* ---- generation.c ---- */

void generation_begin(struct store *store, uint64_t generation);
/* Without one, the first begins. */
void generation_begin_first(struct store *store);

/* ---- lease.c ---- */

void leases_begin(struct store *store); /* the pending ones, once a generation has begun */
void leases_supersede(struct store *store, struct store_stage *stage);
void leases_refuse_pending(struct store *store); /* the endpoint goes down */
void lease_grace_over(struct store *store, struct store_stage *stage);

/* ---- exchange.c, meeting.c ---- */

/* The generation has begun. */
void meetings_begin(struct store *store);
/* A failure of an object was published, or an object's channel was closed. */
void meetings_failed(struct store *store, const struct store_channel *channel, struct at at);
/* A stage that is waited for may no longer speak: it was lost, or it closed. */
void meetings_settle_group(struct store *store, uint32_t group);
void meetings_settle_all(struct store *store);
void meetings_destroy(struct store *store);
void word_end_wait(struct store *store, struct store_word *word);

/* ---- watch.c, cursor.c ---- */

/* A cursor in each watch that wants the channel; false without memory. */
bool watches_join(struct store *store, struct store_channel *channel, uint64_t generation);
void watches_leave(struct store *store, struct store_channel *channel);
void watches_tell_item(struct store_channel *channel, const struct item *item);
void watches_tell_closing(struct store *store, struct store_channel *channel);
void watches_tell_loss(struct store *store, struct store_stage *stage);
void watches_tell_generation(struct store *store);

#endif
