#include "proto/wire/messages.h"

#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"

enum { EVENT_PUBLISHED = 1 };

/* ---- ChannelClosed ---- */

void closed_to_pb(Stagewire__V1__ChannelClosed *to, Stagewire__V1__Address *last,
                  const struct channel_closed *from) {
    stagewire__v1__channel_closed__init(to);
    pb_from_address(to->last = last, &from->last);
    to->kind = (Stagewire__V1__ItemKind)from->kind;
    to->reason = (Stagewire__V1__CloseReason)from->reason;
    to->message = pb_text(from->message);
    to->items = from->items;
}

sw_status closed_from_pb(const Stagewire__V1__ChannelClosed *from, const struct path *path,
                         struct channel_closed *ret, sw_error *error) {
    struct path last = path_field(path, "last"), kind = path_field(path, "kind");
    struct path reason = path_field(path, "reason");
    struct channel_closed closed = {
        .last = pb_to_address(from->last),
        .kind = (sw_item_kind)from->kind,
        .reason = (sw_close_reason)from->reason,
        .message = from->message,
        .items = from->items,
    };
    sw_status status = check_address(&closed.last, CHECK_CHANNEL | CHECK_STAGE | CHECK_STEP, &last, error);
    if (status == SW_OK) status = check_kind((int)closed.kind, &kind, error);
    if (status == SW_OK && (closed.reason < SW_CLOSE_FINISHED || closed.reason > SW_CLOSE_SUPERSEDED))
        status = malformed(error, &reason, "is %d, which this version does not know", (int)closed.reason);
    if (status == SW_OK) *ret = closed;
    return status;
}

/* ---- encoding ---- */

struct event_parts {
    Stagewire__V1__StepFailed failed;
    Stagewire__V1__Gap gap;
    Stagewire__V1__ChannelClosed closed;
    Stagewire__V1__GenerationStarted generation;
    Stagewire__V1__Heartbeat heartbeat;
    Stagewire__V1__Address address, next;
};

static void fill_failed(Stagewire__V1__WatchLossMetricsResponse *to, struct event_parts *parts,
                        const struct watch_event *from) {
    to->event_case = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_FAILED;
    stagewire__v1__step_failed__init(to->failed = &parts->failed);
    pb_from_address(parts->failed.address = &parts->address, &from->failed.address);
    parts->failed.message = pb_text(from->failed.message);
}

static void fill_gap(Stagewire__V1__WatchLossMetricsResponse *to, struct event_parts *parts,
                     const struct watch_event *from) {
    to->event_case = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_GAP;
    stagewire__v1__gap__init(to->gap = &parts->gap);
    pb_from_address(parts->gap.first_missing = &parts->address, &from->gap.first_missing);
    if (from->gap.has_next) pb_from_address(parts->gap.next_held = &parts->next, &from->gap.next_held);
}

static bool fill_event(Stagewire__V1__WatchLossMetricsResponse *to, struct event_parts *parts,
                       const struct watch_event *from) {
    switch (from->type) {
    case WATCH_FAILED:
        fill_failed(to, parts, from);
        return true;
    case WATCH_GAP:
        fill_gap(to, parts, from);
        return true;
    case WATCH_CLOSED:
        to->event_case = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_CLOSED;
        closed_to_pb(to->closed = &parts->closed, &parts->address, &from->closed);
        return true;
    case WATCH_GENERATION:
        to->event_case = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_GENERATION;
        stagewire__v1__generation_started__init(to->generation = &parts->generation);
        parts->generation.generation = from->generation;
        return true;
    case WATCH_HEARTBEAT:
        to->event_case = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_HEARTBEAT;
        stagewire__v1__heartbeat__init(to->heartbeat = &parts->heartbeat);
        parts->heartbeat.unix_ns = from->heartbeat_unix_ns;
        return true;
    case WATCH_PUBLISHED:
        break;
    }
    return false;
}

sw_status watch_event_encode(const struct watch_event *event, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__WatchLossMetricsResponse message = STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__INIT;
    struct event_parts parts;
    if (!fill_event(&message, &parts, event))
        return malformed_at(error, "event", "is of type %d, which is not encoded here", (int)event->type);
    return pb_pack(&message.base, ret, error);
}

/* ---- decoding ---- */

static sw_status read_failed(const Stagewire__V1__StepFailed *from, struct watch_event *to, sw_error *error) {
    struct path failed = path_field(NULL, "failed"), address = path_field(&failed, "address");
    to->type = WATCH_FAILED;
    to->failed.address = pb_to_address(from->address);
    to->failed.message = from->message;
    return check_address(&to->failed.address, CHECK_CHANNEL | CHECK_STEP, &address, error);
}

static sw_status read_gap(const Stagewire__V1__Gap *from, struct watch_event *to, sw_error *error) {
    struct path gap = path_field(NULL, "gap"), first = path_field(&gap, "first_missing");
    struct path next = path_field(&gap, "next_held");
    to->type = WATCH_GAP;
    to->gap.first_missing = pb_to_address(from->first_missing);
    to->gap.has_next = from->next_held != NULL;
    to->gap.next_held = pb_to_address(from->next_held);
    sw_status status = check_address(&to->gap.first_missing, CHECK_CHANNEL | CHECK_STEP, &first, error);
    if (status == SW_OK && to->gap.has_next)
        status = check_address(&to->gap.next_held, CHECK_CHANNEL | CHECK_STEP, &next, error);
    return status;
}

static sw_status read_event(const Stagewire__V1__WatchLossMetricsResponse *from, struct watch_event *to,
                            sw_error *error) {
    struct path closed = path_field(NULL, "closed");
    switch (from->event_case) {
    case STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_FAILED:
        return read_failed(from->failed, to, error);
    case STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_GAP:
        return read_gap(from->gap, to, error);
    case STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_CLOSED:
        to->type = WATCH_CLOSED;
        return closed_from_pb(from->closed, &closed, &to->closed, error);
    case STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_GENERATION:
        to->type = WATCH_GENERATION;
        to->generation = from->generation->generation;
        return SW_OK;
    case STAGEWIRE__V1__WATCH_LOSS_METRICS_RESPONSE__EVENT_HEARTBEAT:
        to->type = WATCH_HEARTBEAT;
        to->heartbeat_unix_ns = from->heartbeat->unix_ns;
        return SW_OK;
    default:
        return malformed_at(error, "event", "is none that this version knows");
    }
}

sw_status watch_event_decode(const void *data, size_t size, struct arena *arena, struct watch_event *ret,
                             sw_error *error) {
    struct watch_event event = {.type = WATCH_PUBLISHED};
    struct span published, rest;
    bool there;
    ProtobufCMessage *unpacked;
    sw_status status =
        scan_take(span_of(data, size), EVENT_PUBLISHED, "published", arena, &there, &published, &rest, error);
    if (status != SW_OK) return status;
    if (there)
        status = metrics_response_decode(published.data, published.size, arena, &event.published, error);
    else
        status =
            pb_unpack(&stagewire__v1__watch_loss_metrics_response__descriptor, rest, arena, &unpacked, error);
    if (status == SW_OK && !there) status = read_event((void *)unpacked, &event, error);
    if (status == SW_OK) *ret = event;
    return status;
}
