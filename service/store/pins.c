/* Pins: a tensor item that was streamed can be named for a while after its last stream ended, wherever its
 * channel is by then. What has gone lives on outside the budget, up to pinned_bytes: beyond it pins without a
 * stream end, the oldest first. So that a step which all have whole gives its memory back at once, the pin of
 * an item that has gone ends with its last stream where everyone who streamed it has said that he will not
 * name it again. */
#include "service/store/internal.h"

static uint64_t hash_of(const struct store *store, uint64_t pin) {
    return hash_number(store->hash_seed, pin);
}

struct item *pins_find(const struct store *store, uint64_t pin) {
    for (struct table_node *node = table_find(&store->pins, hash_of(store, pin)); node;
         node = table_same(node)) {
        struct item *item = container_of(node, struct item, by_pin);
        if (item->shown.pin != pin) continue;
        bool over = item->pin_end.queued && (int64_t)item->pin_end.high <= store_now(store);
        return over ? NULL : item;
    }
    return NULL;
}

static bool pin_is_taken(const struct store *store, uint64_t pin) {
    for (struct table_node *node = table_find(&store->pins, hash_of(store, pin)); node;
         node = table_same(node)) {
        if (container_of(node, struct item, by_pin)->shown.pin == pin) return true;
    }
    return false;
}

static void begin(struct store *store, struct item *item) {
    while (item->shown.pin == 0 || pin_is_taken(store, item->shown.pin))
        item->shown.pin = store_random(store);
    table_add(&store->pins, &item->by_pin, hash_of(store, item->shown.pin));
    item->pinned = true;
    item->lingers = false;
    item->references++;
}

static void end(struct store *store, struct item *item) {
    table_remove(&store->pins, &item->by_pin);
    queue_remove(&store->timers, &item->pin_end);
    queue_remove(&store->idle_pins, &item->idle);
    item->pinned = false;
    if (!item->held) store->pinned_bytes -= item->shown.size;
    item_unref(store, item);
}

void pins_fit(struct store *store) {
    while (store->pinned_bytes > store->options.pinned_bytes && queue_first(&store->idle_pins))
        end(store, container_of(queue_first(&store->idle_pins), struct item, idle));
}

/* Who begins a stream, if he is expected to say when he will no longer name the pin; or NULL. */
static struct consumer *who_will_say(const struct store *store, const struct item *item, const char *id) {
    if (!item->held || !id) return NULL;
    const sw_address *address = &item->shown.address;
    struct channel_key key = {address->stage, address->group, item->shown.kind, address->channel};
    struct policy *policy = channel_find(store, &key)->policy;
    struct consumer *consumer = policy ? policy_consumer(policy, id) : NULL;
    return consumer && consumer->pins_below <= address->step ? consumer : NULL;
}

static void note_who(const struct store *store, struct item *item, const char *id) {
    uint64_t step = item->shown.address.step;
    struct consumer *consumer = who_will_say(store, item, id);
    if (!consumer)
        item->lingers = true;
    else if (consumer->streamed_below <= step)
        consumer->streamed_below = step + 1;
}

/* A consumer may have streamed whatever is not above all that it streamed. */
static bool has_one_to_say(const struct policy *policy, uint64_t step) {
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct consumer *consumer = &policy->consumers[i];
        if (consumer->pins_below <= step && step < consumer->streamed_below) return true;
    }
    return false;
}

void pins_begin_stream(struct store *store, struct item *item, const char *consumer) {
    if (!item->pinned) begin(store, item);
    note_who(store, item, consumer);
    queue_remove(&store->timers, &item->pin_end);
    queue_remove(&store->idle_pins, &item->idle);
    item->streams++;
    store->streams++;
}

static void queue_idle(struct store *store, struct item *item) {
    queue_put(&store->idle_pins, &item->idle, item->pin_end.high, item->sequence);
}

void pins_end_stream(struct store *store, struct item *item) {
    store->streams--;
    if (--item->streams > 0) return;
    if (!item->held && !item->lingers) {
        end(store, item);
        return;
    }
    int64_t due = clock_after(store_now(store), store->options.pin_ms);
    queue_put(&store->timers, &item->pin_end, (uint64_t)due, TIMER_PIN);
    if (item->held) return;
    queue_idle(store, item);
    pins_fit(store);
}

void pins_item_gone(struct store *store, const struct store_channel *channel, struct item *item) {
    store->pinned_bytes += item->shown.size;
    if (!item->lingers) item->lingers = has_one_to_say(channel->policy, item->shown.address.step);
    if (item->streams > 0) return;
    if (item->lingers)
        queue_idle(store, item);
    else
        end(store, item);
}

void pins_due(struct store *store, struct item *item) {
    end(store, item);
}
