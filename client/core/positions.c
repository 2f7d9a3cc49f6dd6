#include "client/core/positions.h"

#include <string.h>

struct position {
    sw_address next;
    bool gap_is_known; /* told already, and nothing came since */
    bool is_closed;    /* told already, and nothing came since */
    bool may_repeat;   /* the closing, in this stream */
    sw_close_reason reason;
    char *message;
    char channel[];
};

void positions_init(struct positions *positions, const struct allocator *allocator) {
    memset(positions, 0, sizeof *positions);
    positions->allocator = allocator;
}

static void destroy(struct positions *positions, struct position *position) {
    if (position->message) allocator_put(positions->allocator, position->message);
    allocator_put(positions->allocator, position);
}

void positions_destroy(struct positions *positions) {
    for (uint32_t i = 0; i < positions->count; i++) destroy(positions, positions->sorted[i]);
    if (positions->sorted) allocator_put(positions->allocator, positions->sorted);
    positions_init(positions, positions->allocator);
}

sw_address address_after(const sw_address *address) {
    sw_address after = *address;
    after.call = address->call + 1;
    if (after.call == 0) after.step++;
    return after;
}

static int compare_channels(const sw_address *a, const sw_address *b) {
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return strcmp(a->channel, b->channel);
}

/* Within a channel. */
static bool is_before(const sw_address *a, const sw_address *b) {
    if (a->generation != b->generation) return a->generation < b->generation;
    if (a->step != b->step) return a->step < b->step;
    return a->call < b->call;
}

/* Where the channel is, or belongs; *ret_found tells which. */
static uint32_t place_of(const struct positions *positions, const sw_address *address, bool *ret_found) {
    uint32_t low = 0, high = positions->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_channels(&positions->sorted[middle]->next, address);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = false;
    return low;
}

static bool make_room(struct positions *positions) {
    if (positions->count < positions->capacity) return true;
    uint32_t capacity = positions->capacity ? 2 * positions->capacity : 16;
    struct position **grown =
        allocator_resize(positions->allocator, positions->sorted, capacity * sizeof(struct position *));
    if (!grown) return false;
    positions->sorted = grown;
    positions->capacity = capacity;
    return true;
}

static struct position *insert(struct positions *positions, const sw_address *next, uint32_t place) {
    if (!make_room(positions)) return NULL;
    size_t size = strlen(next->channel) + 1;
    struct position *position = allocator_get_zeroed(positions->allocator, sizeof *position + size);
    if (!position) return NULL;
    memcpy(position->channel, next->channel, size);
    position->next = *next;
    position->next.has_stage = true;
    position->next.run_id = NULL;
    position->next.channel = position->channel;
    memmove(&positions->sorted[place + 1], &positions->sorted[place],
            (positions->count - place) * sizeof(struct position *));
    positions->sorted[place] = position;
    positions->count++;
    return position;
}

/* The channel's position, made to want `address` if there was none; NULL without memory. */
static struct position *find_or_make(struct positions *positions, const sw_address *address) {
    bool found;
    uint32_t place = place_of(positions, address, &found);
    return found ? positions->sorted[place] : insert(positions, address, place);
}

static void move_to(struct positions *positions, struct position *position, const sw_address *next) {
    position->next.generation = next->generation;
    position->next.step = next->step;
    position->next.call = next->call;
    position->gap_is_known = position->is_closed = position->may_repeat = false;
    if (position->message) allocator_put(positions->allocator, position->message);
    position->message = NULL;
}

bool positions_want(struct positions *positions, const sw_address *next) {
    struct position *position = find_or_make(positions, next);
    if (!position) return false;
    move_to(positions, position, next);
    if (next->generation > positions->generation) positions->generation = next->generation;
    return true;
}

static bool remember_closing(struct positions *positions, struct position *position,
                             const struct channel_closed *closed) {
    const char *text = closed->message ? closed->message : "";
    char *message = allocator_get(positions->allocator, strlen(text) + 1);
    if (!message) return false;
    strcpy(message, text);
    if (position->message) allocator_put(positions->allocator, position->message);
    position->message = message;
    position->reason = closed->reason;
    position->is_closed = true;
    position->may_repeat = false;
    return true;
}

/* The position of a channel that closes: behind its last item, if nothing else is known. */
static struct position *closing_position(struct positions *positions, const struct channel_closed *closed) {
    sw_address next = closed->items > 0 ? address_after(&closed->last) : closed->last;
    if (next.generation == 0) next.generation = positions->generation;
    return find_or_make(positions, &next);
}

bool positions_closed(struct positions *positions, const struct channel_closed *closed) {
    struct position *position = closing_position(positions, closed);
    if (!position || !remember_closing(positions, position, closed)) return false;
    position->may_repeat = true;
    return true;
}

void positions_stream_begins(struct positions *positions) {
    for (uint32_t i = 0; i < positions->count; i++)
        positions->sorted[i]->may_repeat = positions->sorted[i]->is_closed;
}

bool positions_list(const struct positions *positions, struct arena *arena, const sw_address **ret_addresses,
                    uint32_t *ret_count) {
    sw_address *addresses = arena_get(arena, positions->count * sizeof *addresses);
    if (!addresses) return false;
    for (uint32_t i = 0; i < positions->count; i++) addresses[i] = positions->sorted[i]->next;
    *ret_addresses = addresses;
    *ret_count = positions->count;
    return true;
}

/* ---- events ---- */

static const sw_address *address_of(const struct watch_event *event) {
    switch (event->type) {
    case WATCH_PUBLISHED:
        return &event->published.address;
    case WATCH_FAILED:
        return &event->failed.address;
    case WATCH_GAP:
        return &event->gap.first_missing;
    case WATCH_CLOSED:
        return &event->closed.last;
    case WATCH_GENERATION:
    case WATCH_HEARTBEAT:
        break;
    }
    return NULL;
}

/* What an older generation had is gone: its channels start anew. */
static void begin_generation(struct positions *positions, uint64_t generation) {
    positions->generation = generation;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < positions->count; i++) {
        struct position *position = positions->sorted[i];
        if (position->next.generation < generation)
            destroy(positions, position);
        else
            positions->sorted[kept++] = position;
    }
    positions->count = kept;
}

static bool take_item(struct positions *positions, const sw_address *address, bool *ret_deliver) {
    bool found;
    uint32_t place = place_of(positions, address, &found);
    if (found && is_before(address, &positions->sorted[place]->next)) {
        *ret_deliver = false;
        return true;
    }
    sw_address next = address_after(address);
    struct position *position = found ? positions->sorted[place] : insert(positions, &next, place);
    if (!position) return false;
    move_to(positions, position, &next);
    *ret_deliver = true;
    return true;
}

static bool take_gap(struct positions *positions, const struct watch_event *event, bool *ret_deliver) {
    const sw_address *first = &event->gap.first_missing;
    struct position *position = find_or_make(positions, first);
    if (!position) return false;
    *ret_deliver =
        event->gap.has_next ? is_before(&position->next, &event->gap.next_held) : !position->gap_is_known;
    if (!*ret_deliver) return true;
    move_to(positions, position, event->gap.has_next ? &event->gap.next_held : first);
    position->gap_is_known = !event->gap.has_next;
    return true;
}

static bool take_closing(struct positions *positions, const struct channel_closed *closed,
                         bool *ret_deliver) {
    struct position *position = closing_position(positions, closed);
    if (!position) return false;
    *ret_deliver = !(position->may_repeat && position->reason == closed->reason &&
                     strcmp(position->message, closed->message ? closed->message : "") == 0);
    position->may_repeat = false;
    return !*ret_deliver || remember_closing(positions, position, closed);
}

static bool take_generation(struct positions *positions, uint64_t generation,
                            struct positions_verdict *verdict) {
    verdict->deliver = generation > positions->generation;
    if (verdict->deliver) begin_generation(positions, generation);
    return true;
}

bool positions_take(struct positions *positions, const struct watch_event *event,
                    struct positions_verdict *ret_verdict) {
    *ret_verdict = (struct positions_verdict){0};
    if (event->type == WATCH_HEARTBEAT) return true;
    if (event->type == WATCH_GENERATION) return take_generation(positions, event->generation, ret_verdict);
    const sw_address *address = address_of(event);
    uint64_t generation = address->generation ? address->generation : positions->generation;
    if (generation < positions->generation) return true;
    if (generation > positions->generation) {
        ret_verdict->new_generation = positions->generation > 0;
        begin_generation(positions, generation);
    }
    switch (event->type) {
    case WATCH_GAP:
        return take_gap(positions, event, &ret_verdict->deliver);
    case WATCH_CLOSED:
        return take_closing(positions, &event->closed, &ret_verdict->deliver);
    default:
        return take_item(positions, address, &ret_verdict->deliver);
    }
}
