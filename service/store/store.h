/* The store: what an endpoint holds, who waits for it, and every row of the contract's tables.
 *
 * A pure state machine: no threads, no sockets, no real clock. Clock, allocator and a source of random
 * numbers are handed in. Not thread-safe: the endpoint calls it under one lock. Callbacks run inside the call
 * that caused them, still under that lock: they must only note what happened (post an operation to the loop),
 * never call back into the store.
 *
 * Structs named store_pull, store_word, store_lease, store_watch, store_publish live in their caller's memory
 * from their start until they are answered, ended or cancelled; the store links them into its own lists.
 * Fields under "private" are the store's.
 *
 * Every function that can refuse returns the status and fills `error` (NULL is fine) with reason, metadata
 * and a message that names stage and address and says what to do. Without memory: RESOURCE_EXHAUSTED / LIMIT
 * with limit "memory", and nothing has changed. Requests come validated by proto/wire (MALFORMED is the
 * decoder's, but for what only the store can know). */
#ifndef STAGEWIRE_SERVICE_STORE_H
#define STAGEWIRE_SERVICE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/allocator.h"
#include "proto/base/clock.h"
#include "proto/base/digest.h"
#include "proto/base/list.h"
#include "proto/wire/messages.h"
#include "service/store/queue.h"

struct store;

struct store_options {
    const char *run_id;  /* copied */
    uint64_t generation; /* 0: it begins with the first Attach or publish */
    uint32_t stage;      /* the endpoint's own */
    uint32_t keep_steps, keep_tensor_steps;
    uint32_t max_lag_steps;              /* 0: no limit */
    uint64_t store_bytes, metrics_bytes; /* of tensors; of metrics and objects */
    uint64_t pinned_bytes;               /* 0: as store_bytes */
    int64_t publisher_grace_ms, drain_grace_ms, max_wait_ms, pin_ms;
    uint32_t max_waiters, max_watches, max_channels, max_consumers, max_leases, max_publishes;
};

/* The contract's defaults and limits.h's. */
struct store_options store_options_default(void);

struct store_world {
    const struct clock *clock;
    const struct allocator *allocator;
    uint64_t (*random)(void *context); /* pins: not to be guessed */
    void *random_context;
};

/* NULL without memory. */
struct store *store_create(const struct store_options *options, const struct store_world *world);
/* Nothing may be linked any more: pulls answered or cancelled, items released, leases ended. Takes NULL. */
void store_destroy(struct store *store);

/* ---- items ---- */

/* What was published at one address. Immutable; counted: a pull's answer and a watch's event carry a
 * reference, given back with store_item_release. It lives on for its holders whatever is evicted or
 * superseded. */
struct store_item {
    sw_address address; /* fully resolved; channel and run_id live with the item */
    sw_item_kind kind;
    bool failed;
    int64_t published_unix_ns;
    uint64_t pin;               /* TENSORS */
    uint64_t size;              /* counted against the budget */
    sw_buffer *metrics;         /* METRICS: a LossMetrics message, encoded once */
    struct tensor_set *tensors; /* TENSORS */
    const char *message;        /* failed: why */
};

/* Gives a reference back. For TENSORS this is the end of a stream: the last one starts the pin's 30 s, or
 * ends it where the item has gone and everyone who streamed it will no longer name the pin. */
void store_item_release(struct store *store, const struct store_item *item);

/* ---- publishing ---- */

/* A dict or list of dicts, encoded by metrics_encode; takes a reference to `bytes` if it returns SW_OK and is
 * no duplicate. */
sw_status store_publish_metrics(struct store *store, const sw_address *address, sw_buffer *bytes,
                                struct digest digest, bool *ret_duplicate, sw_error *error);

sw_status store_publish_failure(struct store *store, const sw_address *address, sw_item_kind kind,
                                const char *message, bool *ret_duplicate, sw_error *error);

/* `kind` is ignored with `all`. */
sw_status store_close(struct store *store, const sw_address *address, sw_item_kind kind, bool all,
                      sw_close_reason reason, const char *message, sw_error *error);

/* A tensor publish takes its place and room at the manifest. */
struct store_publish {
    /* A supersede, close or drain ended it: it is no longer open. `why` lives during the callback only. */
    void (*ended)(struct store_publish *publish, const sw_error *why);
    bool known; /* set by store_publish_open: something stands there already; hash the blocks and drop them */

    /* private */
    struct list link;
    struct store_channel *channel;
    struct item *item;    /* made at the manifest, so that nothing can fail at the end; NULL where `known` */
    struct digest digest; /* of what stands there, where `known` */
    uint64_t step;
    uint32_t call;
};
/* `size` is the sum of byte_length; `manifest_fits` false says TOO_LARGE in its turn (the manifest, encoded
 * as a response, would not fit a message). On SW_OK it is open until committed, abandoned or `ended`. */
sw_status store_publish_open(struct store *store, struct store_publish *publish, const sw_address *address,
                             uint64_t size, bool manifest_fits, sw_error *error);
/* Closes it and publishes; takes a reference to `set` if it returns SW_OK and is no duplicate. `set` is NULL
 * where it is `known`: then only the digest is compared. */
sw_status store_publish_commit(struct store *store, struct store_publish *publish, struct tensor_set *set,
                               struct digest digest, bool *ret_duplicate, sw_error *error);
/* It broke: place and room come back. Fine if it is not open. */
void store_publish_abandon(struct store *store, struct store_publish *publish);

/* ---- pulling ---- */

struct store_pull {
    /* filled by the caller; strings and ranges must live until it is answered */
    const struct pull_request *request;
    sw_item_kind kind;
    int64_t until_ms; /* when a wait ends, on the store's clock; CLOCK_NEVER: max_wait. request->wait is NOT
                         looked at but for no_wait */
    void (*answered)(struct store_pull *pull); /* once, and never from within store_pull_start or _cancel */

    /* the answer */
    sw_status status;
    sw_error error;
    const struct store_item *item; /* SW_OK: a reference; for TENSORS a stream has begun */

    /* private */
    struct list link; /* where the latest is wanted; else place */
    struct queue_node place, timer;
    uint64_t generation; /* on arrival */
    uint32_t stage;
    struct store_waiting *waiting;
};
/* True: answered at once (see the answer's fields). False: it waits. The consumer's release is applied first,
 * whatever the answer. */
bool store_pull_start(struct store *store, struct store_pull *pull);
void store_pull_cancel(struct store *store, struct store_pull *pull); /* fine if it does not wait */

/* Consumers' releases; undeclared ids and unknown channels leave nothing. */
sw_status store_release(struct store *store, const struct release_request *request, sw_error *error);

/* ---- exchanging an object ---- */

struct store_word {
    /* filled by the caller; lives until it is answered */
    const struct exchange_request *request; /* value_bytes and value_digest are used, value is not */
    int64_t until_ms;
    void (*answered)(struct store_word *word);

    /* the answer */
    sw_status status;
    sw_error error;
    sw_address address;     /* resolved; channel is the request's */
    const uint32_t *owners; /* in the store's memory, until store_word_finish */
    uint32_t owner_count;
    sw_buffer *value; /* a reference, which the caller unrefs; NULL unless there is one owner */

    /* private */
    struct list link;
    struct queue_node timer;
    struct store_meeting *meeting;
};
/* As store_pull_start. The word itself stays when its wait ends or is cancelled. */
bool store_word_start(struct store *store, struct store_word *word);
void store_word_cancel(struct store *store, struct store_word *word); /* fine if it does not wait */
/* Gives `owners` back; in any case, once the answer was used. */
void store_word_finish(struct store *store, struct store_word *word);

/* ---- leases and generations ---- */

struct store_lease {
    /* Only where store_attach said that it is pending. */
    void (*granted)(struct store_lease *lease);
    /* STALE_GENERATION; of a pending one also SHUTTING_DOWN. `why` lives during the callback only. */
    void (*ended)(struct store_lease *lease, const sw_error *why);

    uint64_t generation; /* set once it is granted */

    /* private */
    struct list link;
    struct store_stage *stage;
    const sw_attachment *request;
    bool pending;
};
/* Granted at once (*ret_pending false), or pending until a generation begins: a caller who may not publish
 * neither begins one nor declares policies (PERMISSION_DENIED). `request` must live until it is granted. */
sw_status store_attach(struct store *store, struct store_lease *lease, const sw_attachment *request,
                       bool may_publish, bool *ret_pending, sw_error *error);
void store_detach(struct store *store, struct store_lease *lease); /* fine if it has ended */

/* ---- watching ---- */

/* A watcher is a set of cursors, not a queue: it holds no items, and one that lags is told of a Gap. */
struct store_watch {
    /* Something has come since store_watch_next said false: look until it says so again, and once after
     * store_watch_start. */
    void (*ready)(struct store_watch *watch);

    /* private */
    struct list link;
    struct list dirty; /* cursors with something to tell */
    struct list cursors;
    const struct watch_request *request; /* lives as long as the watch */
    const sw_address **positions;        /* its positions, sorted */
    bool generation_due;
};
sw_status store_watch_start(struct store *store, struct store_watch *watch,
                            const struct watch_request *request, sw_error *error);
/* The next event, or false. For WATCH_PUBLISHED *ret_item carries a reference (give it back), and `event`
 * only the type; strings of other events live until the next call to the store. Heartbeats are not the
 * store's. */
bool store_watch_next(struct store *store, struct store_watch *watch, struct watch_event *ret_event,
                      const struct store_item **ret_item);
void store_watch_stop(struct store *store, struct store_watch *watch);

/* ---- time, drain, info ---- */

/* When store_tick has something to do; CLOCK_NEVER if nothing is due. */
int64_t store_due_ms(const struct store *store);
void store_tick(struct store *store);

void store_drain(struct store *store);
bool store_draining(const struct store *store);
/* No expected consumer needs a held step any more, or the drain grace is over. */
bool store_drained(const struct store *store);

uint64_t store_generation(const struct store *store); /* 0: none yet */
uint64_t
store_dropped_consumers(const struct store *store); /* that were too far behind, since it was created */
const struct store_options *store_options_of(const struct store *store);

/* One page: fills run_id, generation, leases (first page only), channels, next_page_token, held_bytes,
 * store_bytes and the store's half of load (waiting, watches, streams, open_publishes, pinned_bytes,
 * metrics…). Everything lives in `arena`. MALFORMED for a token that is none. */
sw_status store_info(const struct store *store, const char *page_token, struct arena *arena,
                     struct stage_info *ret, sw_error *error);

#endif
