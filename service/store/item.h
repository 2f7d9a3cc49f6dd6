/* What was published at one address, as the store knows it. */
#ifndef STAGEWIRE_SERVICE_ITEM_H
#define STAGEWIRE_SERVICE_ITEM_H

#include "service/store/queue.h"
#include "service/store/store.h"
#include "service/store/table.h"

/* A place within a channel. */
struct at {
    uint64_t step;
    uint32_t call;
};

static inline bool at_below(struct at a, struct at b) {
    return a.step != b.step ? a.step < b.step : a.call < b.call;
}
static inline bool at_equal(struct at a, struct at b) {
    return a.step == b.step && a.call == b.call;
}
static inline struct at at_after(struct at a) {
    return a.call == UINT32_MAX ? (struct at){a.step + 1, 0} : (struct at){a.step, a.call + 1};
}

struct store_channel;

struct item {
    struct store_item shown;
    struct digest digest; /* a failure's: of its message */
    uint64_t sequence;    /* of publications, losses and closings at this endpoint */
    uint32_t references;  /* one while it is held, one while its pin stands, one an answer */
    uint32_t streams;
    bool held;    /* by its channel */
    bool pinned;  /* its pin stands: it has a stream, or had one a short while ago */
    bool lingers; /* and for all its time: somebody may name it who won't say when he no longer will */
    struct table_node by_pin;
    struct queue_node pin_end; /* in store.timers: the pin stands without a stream */
    struct queue_node idle;    /* in store.idle_pins: that, and the item has gone */
    char text[];
};

/* What is to be published; `address` is resolved but for the generation. Without memory NULL. */
struct item *item_create(struct store *store, const sw_address *address, sw_item_kind kind,
                         const char *message);
void item_unref(struct store *store, struct item *item);

/* Its channel holds it no longer: it goes, or lives on for its pin and its streams. */
void item_gone(struct store *store, const struct store_channel *channel, struct item *item);

/* How many bytes of a failure's or a closing's message are kept; cut at a character. NULL is none. */
size_t message_kept(const char *message);

static inline struct at item_at(const struct item *item) {
    return (struct at){item->shown.address.step, item->shown.address.call};
}

#endif
