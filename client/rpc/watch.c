#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/positions.h"
#include "client/core/watch_filter.h"
#include "client/rpc/held.h"
#include "client/rpc/watch_queue.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/waiting.h"
#include "proto/transport/slices.h"

struct sw_watch {
    struct held held;
    struct arena arena; /* of the filters */
    const struct channel_filter *filters;
    uint32_t filter_count;
    struct positions positions; /* the loop's thread's, once it is open */
    bool is_waiting;            /* for room in the queue; with held.lock, as the queue */
    struct watch_queue queue;
    struct wake room;
    struct watch_item *current; /* what the caller reads */
};

static sw_watch *watch_of(struct held *held) {
    return container_of(held, sw_watch, held);
}

static const char *watch_words(struct held *held) {
    (void)held;
    return "the watch";
}

/* ---- the stream ---- */

/* Each but the first goes on from where the last one was. A channel without a position starts at its oldest
 * held item, and there is none of which anything was not wanted: see sw_client_watch. */
static sw_status watch_request(struct held *held, sw_buffer **ret_request, sw_error *error) {
    sw_watch *watch = watch_of(held);
    struct watch_request request = {
        .run_id = held->client->run_id, .filters = watch->filters, .filter_count = watch->filter_count};
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    positions_stream_begins(&watch->positions);
    sw_status status = SW_OK;
    if (!positions_list(&watch->positions, &arena, &request.positions, &request.position_count))
        status = error_no_memory(error);
    request.start = request.position_count > 0 ? WATCH_POSITIONS : WATCH_OLDEST_HELD;
    if (status == SW_OK) status = watch_request_encode(&request, ret_request, error);
    arena_destroy(&arena);
    return status;
}

static void put(sw_watch *watch, struct watch_item *item) {
    pthread_mutex_lock(&watch->held.lock);
    watch_queue_put(&watch->queue, item);
    pthread_cond_broadcast(&watch->held.changed);
    pthread_mutex_unlock(&watch->held.lock);
}

static bool put_generation(sw_watch *watch) {
    struct watch_item *item = watch_item_create(0);
    if (!item) return false;
    item->event.type = WATCH_GENERATION;
    item->event.generation = watch->positions.generation;
    put(watch, item);
    return true;
}

/* Takes the item over, whatever it returns. */
static sw_status take(sw_watch *watch, struct watch_item *item, sw_error *error) {
    struct positions_verdict verdict;
    bool fits = positions_take(&watch->positions, &item->event, &verdict) &&
                (!verdict.new_generation || put_generation(watch));
    if (fits && verdict.deliver)
        put(watch, item);
    else
        watch_item_destroy(item);
    return fits ? SW_OK : error_no_memory(error);
}

static sw_status unreadable(sw_watch *watch, const sw_error *why, sw_error *error) {
    return error_set_code(error, SW_DATA_LOSS, SW_REASON_NONE,
                          "an event from %s is not readable: %s; watch again", watch->held.client->endpoint,
                          why->message);
}

static sw_status decode_and_take(sw_watch *watch, const struct message_flat *flat, sw_error *error) {
    struct watch_item *item = watch_item_create(flat->size);
    if (!item) return error_no_memory(error);
    sw_error why = {0};
    if (watch_event_decode(flat->data, flat->size, &item->arena, &item->event, &why) == SW_OK)
        return take(watch, item, error);
    watch_item_destroy(item);
    return unreadable(watch, &why, error);
}

static void read_on_or_wait(sw_watch *watch) {
    pthread_mutex_lock(&watch->held.lock);
    watch->is_waiting = watch_queue_is_full(&watch->queue);
    bool waits = watch->is_waiting;
    pthread_mutex_unlock(&watch->held.lock);
    if (!waits) attempt_read(&watch->held.attempt);
}

static sw_status watch_message(struct held *held, grpc_byte_buffer *message, sw_error *error) {
    sw_watch *watch = watch_of(held);
    held_stands(held);
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    status = decode_and_take(watch, &flat, error);
    message_flat_free(&flat);
    if (status == SW_OK) read_on_or_wait(watch);
    return status;
}

static void run_room(struct wake *wake) {
    read_on_or_wait(container_of(wake, sw_watch, room));
}

static void watch_ended(struct held *held) {
    watch_queue_end(&watch_of(held)->queue);
}

static const struct held_ops watch_stream = {
    .method = "/stagewire.v1.StageService/WatchLossMetrics",
    .reads = READS_WHEN_ASKED,
    .headers_are_a_sign = true,
    .words = watch_words,
    .request = watch_request,
    .message = watch_message,
    .ended = watch_ended,
};

/* ---- where it begins ---- */

static sw_status want(sw_watch *watch, const sw_address *next, sw_error *error) {
    return positions_want(&watch->positions, next) ? SW_OK : error_no_memory(error);
}

/* What is there now is not wanted: each channel begins behind its latest, and a closing is known. What comes
 * between this look and the stream is then sent, and not missed. */
static sw_status begin_after(sw_watch *watch, const sw_channel_info *channel, sw_error *error) {
    if (channel->has_items) {
        sw_address next = address_after(&channel->latest);
        sw_status status = want(watch, &next, error);
        if (status != SW_OK) return status;
    }
    struct channel_closed closed = {.last = channel->latest,
                                    .reason = channel->closed_reason,
                                    .message = channel->closed_message,
                                    .items = channel->has_items};
    if (channel->is_closed && !positions_closed(&watch->positions, &closed)) return error_no_memory(error);
    return SW_OK;
}

static sw_status begin_new(sw_watch *watch, sw_client *client, const sw_watch_filter *filters, uint32_t count,
                           int64_t timeout_ms, sw_error *error) {
    sw_info *info;
    sw_status status = sw_client_info(client, timeout_ms, &info, error);
    if (status != SW_OK) return status;
    watch->positions.generation = info->generation;
    for (uint32_t i = 0; status == SW_OK && i < info->channel_count; i++) {
        const sw_channel_info *channel = &info->channels[i];
        if (channel->kind == SW_METRICS && watch_filters_match(filters, count, &channel->latest))
            status = begin_after(watch, channel, error);
    }
    sw_info_destroy(info);
    return status;
}

static sw_status begin_at(sw_watch *watch, const sw_address *positions, uint32_t count, sw_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        const sw_address *next = &positions[i];
        if (!next->has_stage || next->generation == 0 || !next->channel)
            return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                                  "positions[%u] must name stage, generation and channel", i);
        sw_status status = want(watch, next, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

/* ---- open, close ---- */

static void free_watch(sw_watch *watch) {
    watch_item_destroy(watch->current);
    watch_queue_fini(&watch->queue);
    positions_destroy(&watch->positions);
    arena_destroy(&watch->arena);
    free(watch);
}

static sw_status make(const sw_watch_filter *filters, uint32_t count, sw_watch **ret_watch, sw_error *error) {
    sw_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return error_no_memory(error);
    arena_init(&watch->arena, &allocator_system, LIMIT_DECODE_BYTES);
    positions_init(&watch->positions, &allocator_system);
    watch->room.run = run_room;
    sw_status status = SW_OK;
    if (!watch_queue_init(&watch->queue))
        status = error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                                "no descriptor for a watch: %m; raise the limit (ulimit -n)");
    watch->filters = watch_filters_copy(filters, count, &watch->arena);
    watch->filter_count = count;
    if (status == SW_OK && !watch->filters) status = error_no_memory(error);
    if (status == SW_OK)
        *ret_watch = watch;
    else
        free_watch(watch);
    return status;
}

static sw_status begin(sw_watch *watch, sw_client *client, const sw_watch_filter *filters, uint32_t count,
                       sw_watch_start start, const sw_address *positions, uint32_t position_count,
                       int64_t timeout_ms, sw_error *error) {
    switch (start) {
    case SW_WATCH_NEW:
        return begin_new(watch, client, filters, count, timeout_ms, error);
    case SW_WATCH_POSITIONS:
        return begin_at(watch, positions, position_count, error);
    case SW_WATCH_OLDEST_HELD:
        return SW_OK;
    }
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "%d is no start of a watch; take SW_WATCH_NEW, _OLDEST_HELD or _POSITIONS",
                          (int)start);
}

sw_status sw_client_watch(sw_client *client, const sw_watch_filter *filters, uint32_t filter_count,
                          sw_watch_start start, const sw_address *positions, uint32_t position_count,
                          int64_t timeout_ms, sw_watch **ret_watch, sw_error *error) {
    sw_watch *watch = NULL;
    sw_status status = client_check(client, error);
    if (status == SW_OK) status = make(filters, filter_count, &watch, error);
    if (status != SW_OK) return status;
    status = begin(watch, client, filters, filter_count, start, positions, position_count, timeout_ms, error);
    if (status == SW_OK) status = held_open(&watch->held, &watch_stream, client, timeout_ms, error);
    if (status == SW_OK)
        *ret_watch = watch;
    else
        free_watch(watch);
    return status;
}

void sw_watch_close(sw_watch *watch) {
    if (!watch || loop_forked()) return;
    held_close(&watch->held);
    free_watch(watch);
}

int sw_watch_fd(const sw_watch *watch) {
    return watch->queue.fd;
}

/* ---- the next event ---- */

static sw_watch_event convert(const struct watch_event *event) {
    switch (event->type) {
    case WATCH_PUBLISHED:
        return (sw_watch_event){.type = SW_EVENT_PUBLISHED,
                                .address = event->published.address,
                                .metrics = event->published.metrics,
                                .published_unix_ns = event->published.published_unix_ns};
    case WATCH_FAILED:
        return (sw_watch_event){
            .type = SW_EVENT_FAILED, .address = event->failed.address, .message = event->failed.message};
    case WATCH_GAP:
        return (sw_watch_event){.type = SW_EVENT_GAP,
                                .address = event->gap.first_missing,
                                .has_next = event->gap.has_next,
                                .next = event->gap.next_held};
    case WATCH_CLOSED:
        return (sw_watch_event){.type = SW_EVENT_CLOSED,
                                .address = event->closed.last,
                                .has_last = event->closed.items > 0,
                                .reason = event->closed.reason,
                                .message = event->closed.message};
    case WATCH_GENERATION:
    case WATCH_HEARTBEAT:
        break;
    }
    return (sw_watch_event){.type = SW_EVENT_GENERATION, .generation = event->generation};
}

/* With the lock: waits until there is something to say, or the time is over. False if it was interrupted. */
static bool wait_for_news(sw_watch *watch, int64_t timeout_ms) {
    struct held *held = &watch->held;
    int64_t due_ms = clock_after(loop_now_ms(held->client->loop), timeout_ms);
    enum waited waited = WAITED_WOKEN;
    while (waited != WAITED_INTERRUPTED && list_empty(&watch->queue.items) && !watch->queue.has_ended &&
           loop_now_ms(held->client->loop) < due_ms)
        waited = waiting(&held->changed, &held->lock, due_ms);
    return waited != WAITED_INTERRUPTED;
}

static sw_status nothing_new(sw_watch *watch, int64_t timeout_ms, sw_error *error) {
    if (watch->queue.has_ended) {
        if (error) *error = watch->held.error;
        return watch->held.error.code;
    }
    return error_set_code(error, SW_DEADLINE_EXCEEDED, SW_REASON_NONE, "no event within %" PRId64 " ms",
                          timeout_ms);
}

sw_status sw_watch_next(sw_watch *watch, int64_t timeout_ms, sw_watch_event *ret_event, sw_error *error) {
    struct held *held = &watch->held;
    sw_status status = client_check(held->client, error);
    if (status != SW_OK) return status;
    watch_item_destroy(watch->current);
    pthread_mutex_lock(&held->lock);
    if (wait_for_news(watch, timeout_ms)) {
        watch->current = watch_queue_take(&watch->queue);
        if (!watch->current) status = nothing_new(watch, timeout_ms, error);
    } else {
        watch->current = NULL;
        status = waiting_interrupted(error);
    }
    bool resume = watch->is_waiting && !watch_queue_is_full(&watch->queue);
    pthread_mutex_unlock(&held->lock);
    if (resume) loop_wake(held->client->loop, &watch->room);
    if (status == SW_OK) *ret_event = convert(&watch->current->event);
    return status;
}
