#include "service/store/cursor.h"

/* Where a position leads in a generation: into it, beyond it, or nowhere since it is of an older one. */
static struct at place_in(const sw_address *position, uint64_t generation) {
    if (!position || position->generation < generation) return (struct at){0, 0};
    if (position->generation > generation) return (struct at){UINT64_MAX, UINT32_MAX};
    return (struct at){position->step, position->call};
}

void cursor_begin_with_channel(struct cursor *cursor, const sw_address *position, uint64_t generation) {
    cursor->position = place_in(position, generation ? generation : 1);
    cursor->next_index = 0;
}

/* Anything from the position to the oldest held that was published, or may have been, and has gone. */
static bool is_gap(const struct store_channel *channel, struct at position) {
    const struct history *h = &channel->history;
    if (h->count == 0) return false;
    uint64_t index = history_lower_bound(h, position);
    if (index < h->first_held) return true;
    bool behind = at_below(position, history_latest(h));
    bool held = index < h->count && at_equal(history_publication(h, index).at, position);
    return behind && !held && channel_has_forgotten(channel, position);
}

static void begin_at_latest(struct cursor *cursor) {
    const struct history *h = &cursor->channel->history;
    cursor->next_index = h->count;
    if (h->count > 0) cursor->position = at_after(history_latest(h));
}

static void begin_at_oldest(struct cursor *cursor) {
    const struct history *h = &cursor->channel->history;
    if (!history_holds(h)) {
        begin_at_latest(cursor);
        return;
    }
    cursor->next_index = h->first_held;
    cursor->position = history_publication(h, h->first_held).at;
}

static void begin_at_position(struct store *store, struct cursor *cursor, const sw_address *position) {
    const struct history *h = &cursor->channel->history;
    cursor->position = place_in(position, store->generation);
    cursor->gap_due = position->generation == store->generation && is_gap(cursor->channel, cursor->position);
    uint64_t index = history_lower_bound(h, cursor->position);
    cursor->next_index = index > h->first_held ? index : h->first_held;
}

void cursor_begin(struct store *store, struct cursor *cursor, const sw_address *position) {
    const struct store_channel *channel = cursor->channel;
    enum watch_start start = cursor->watch->request->start;
    if (start != WATCH_OLDEST_HELD && start != WATCH_POSITIONS) {
        begin_at_latest(cursor);
        return;
    }
    if (start == WATCH_POSITIONS && position && position->generation >= store->generation)
        begin_at_position(store, cursor, position);
    else
        begin_at_oldest(cursor);
    if (channel->closed)
        cursor->closed_at = store->sequence;
    else if (channel->stage->lost)
        cursor->lost_at = store->sequence;
}

bool cursor_wants(struct cursor *cursor, const struct item *item) {
    if (!at_below(item_at(item), cursor->position)) return true;
    cursor->next_index = cursor->channel->history.count;
    return false;
}

/* ---- what comes next ---- */

/* The next item to tell, or NULL. */
static const struct item *next_item(struct cursor *cursor) {
    const struct history *h = &cursor->channel->history;
    uint64_t index = cursor->next_index > h->first_held ? cursor->next_index : h->first_held;
    return history_item(h, index);
}

static void tell_gap(struct store *store, struct cursor *cursor, const struct item *next,
                     struct watch_event *event) {
    const struct history *h = &cursor->channel->history;
    event->type = WATCH_GAP;
    event->gap.first_missing = channel_address(store, cursor->channel, cursor->position);
    event->gap.has_next = next != NULL;
    if (next) event->gap.next_held = channel_address(store, cursor->channel, item_at(next));
    cursor->gap_due = false;
    if (cursor->next_index < h->first_held) cursor->next_index = h->first_held;
    struct at reached = next ? item_at(next) : at_after(history_latest(h));
    if (at_below(cursor->position, reached)) cursor->position = reached;
}

static void tell_item(struct store *store, struct cursor *cursor, const struct item *item,
                      struct watch_event *event, const struct store_item **ret_item) {
    const struct history *h = &cursor->channel->history;
    cursor->next_index = (cursor->next_index > h->first_held ? cursor->next_index : h->first_held) + 1;
    cursor->position = at_after(item_at(item));
    if (item->shown.failed) {
        event->type = WATCH_FAILED;
        event->failed.address = channel_address(store, cursor->channel, item_at(item));
        event->failed.message = item->shown.message;
        return;
    }
    event->type = WATCH_PUBLISHED;
    ((struct item *)item)->references++;
    *ret_item = &item->shown;
}

static void tell_closing(struct store *store, struct cursor *cursor, struct watch_event *event) {
    const struct closing *closed = cursor->channel->closed;
    event->type = WATCH_CLOSED;
    event->closed = (struct channel_closed){
        .last = channel_latest_address(store, cursor->channel),
        .kind = SW_METRICS,
        .reason = cursor->lost_at ? SW_CLOSE_PUBLISHER_LOST : closed->reason,
        .message = cursor->lost_at ? "" : closed->message,
        .items = cursor->channel->history.count,
    };
    cursor->closed_at = cursor->lost_at ? cursor->closed_at : 0;
    cursor->lost_at = 0;
}

/* The earliest of what is to be told: a loss that is told late still comes before what was published after
 * it. */
bool cursor_next(struct store *store, struct cursor *cursor, struct watch_event *event,
                 const struct store_item **ret_item) {
    const struct item *item = next_item(cursor);
    bool gap = cursor->gap_due || cursor->next_index < cursor->channel->history.first_held;
    uint64_t end = cursor->lost_at ? cursor->lost_at : cursor->closed_at;
    if (end != 0 && (item ? end < item->sequence : !gap))
        tell_closing(store, cursor, event);
    else if (gap)
        tell_gap(store, cursor, item, event);
    else if (item)
        tell_item(store, cursor, item, event, ret_item);
    else
        return false;
    return true;
}
