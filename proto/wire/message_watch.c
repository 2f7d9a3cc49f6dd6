#include "proto/wire/messages.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"
#include "proto/wire/repeated.h"

/* ---- rules ---- */

/* A channel's name, or the start of one and a star. */
static sw_status check_pattern(const char *pattern, const struct path *path, sw_error *error) {
    char name[SW_CHANNEL_MAX + 2];
    size_t size = pattern ? strlen(pattern) : 0;
    if (size == 0 || pattern[size - 1] != '*') return check_channel(pattern, path, error);
    if (size == 1) return SW_OK;
    if (size > sizeof name) return check_channel(pattern, path, error);
    memcpy(name, pattern, size - 1);
    name[size - 1] = '\0';
    return check_channel(name, path, error);
}

static sw_status check_filters(const struct watch_request *request, sw_error *error) {
    struct path filters = path_field(NULL, "filters");
    for (uint32_t i = 0; i < request->filter_count; i++) {
        struct path filter = path_index(&filters, i), channels = path_field(&filter, "channels");
        for (uint32_t j = 0; j < request->filters[i].channel_count; j++) {
            struct path channel = path_index(&channels, j);
            sw_status status = check_pattern(request->filters[i].channels[j], &channel, error);
            if (status != SW_OK) return status;
        }
    }
    return SW_OK;
}

#define POSITION_NAME_MAX (SW_CHANNEL_MAX + 24)

static bool name_position(struct arena *arena, const sw_address *position, sw_bytes *ret) {
    char name[POSITION_NAME_MAX];
    int size = snprintf(name, sizeof name, "%u %u %s", (unsigned)position->stage, (unsigned)position->group,
                        position->channel);
    char *kept = arena_string(arena, name, (size_t)size);
    *ret = (sw_bytes){kept, (size_t)size};
    return kept != NULL;
}

static sw_status check_positions(const struct watch_request *request, struct arena *arena, sw_error *error) {
    const unsigned needs = CHECK_CHANNEL | CHECK_STAGE | CHECK_STEP | CHECK_GENERATION;
    struct path positions = path_field(NULL, "positions");
    size_t index;
    sw_bytes *names = arena_get_array(arena, request->position_count, sizeof *names);
    if (!names) return decode_out_of_memory(arena, error);
    for (uint32_t i = 0; i < request->position_count; i++) {
        struct path position = path_index(&positions, i);
        sw_status status = check_address(&request->positions[i], needs, &position, error);
        if (status != SW_OK) return status;
        if (!name_position(arena, &request->positions[i], &names[i]))
            return decode_out_of_memory(arena, error);
    }
    if (!repeated_find(names, sizeof *names, request->position_count, arena->allocator, &index))
        return error_no_memory(error);
    if (index == request->position_count) return SW_OK;
    struct path position = path_index(&positions, index);
    return malformed(error, &position, "is the second of channel \"%s\"; a channel has one",
                     request->positions[index].channel);
}

static sw_status check_request(const struct watch_request *request, struct arena *arena, sw_error *error) {
    struct path run_id = path_field(NULL, "run_id");
    sw_status status = check_run_id(request->run_id, &run_id, error);
    if (status == SW_OK && (request->start < WATCH_NEW || request->start > WATCH_POSITIONS))
        status = malformed_at(error, "start", "is %d, which this version does not know", (int)request->start);
    if (status == SW_OK) status = check_filters(request, error);
    if (status == SW_OK) status = check_positions(request, arena, error);
    return status;
}

sw_status watch_request_check(const struct watch_request *request, sw_error *error) {
    struct arena arena;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    sw_status status = check_request(request, &arena, error);
    arena_destroy(&arena);
    return status;
}

/* ---- encoding ---- */

static bool filters_to_pb(struct arena *arena, const struct watch_request *from,
                          Stagewire__V1__WatchLossMetricsRequest *to) {
    Stagewire__V1__ChannelFilter *filters;
    if (!pb_array(arena, from->filter_count, sizeof *filters, (void **)&filters, (void ***)&to->filters))
        return false;
    for (uint32_t i = 0; i < from->filter_count; i++) {
        const struct channel_filter *filter = &from->filters[i];
        stagewire__v1__channel_filter__init(&filters[i]);
        filters[i].n_stages = filter->stage_count;
        filters[i].stages = (uint32_t *)filter->stages;
        filters[i].n_groups = filter->group_count;
        filters[i].groups = (uint32_t *)filter->groups;
        filters[i].n_channels = filter->channel_count;
        filters[i].channels = (char **)filter->channels;
    }
    to->n_filters = from->filter_count;
    return true;
}

static bool positions_to_pb(struct arena *arena, const struct watch_request *from,
                            Stagewire__V1__WatchLossMetricsRequest *to) {
    Stagewire__V1__Address *positions;
    if (!pb_array(arena, from->position_count, sizeof *positions, (void **)&positions,
                  (void ***)&to->positions))
        return false;
    for (uint32_t i = 0; i < from->position_count; i++) pb_from_address(&positions[i], &from->positions[i]);
    to->n_positions = from->position_count;
    return true;
}

sw_status watch_request_encode(const struct watch_request *request, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__WatchLossMetricsRequest message = STAGEWIRE__V1__WATCH_LOSS_METRICS_REQUEST__INIT;
    struct arena arena;
    message.run_id = pb_text(request->run_id);
    message.start = (Stagewire__V1__WatchStart)request->start;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = filters_to_pb(&arena, request, &message) && positions_to_pb(&arena, request, &message);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

/* ---- decoding ---- */

static bool filters_from_pb(struct arena *arena, const Stagewire__V1__WatchLossMetricsRequest *from,
                            struct watch_request *to) {
    struct channel_filter *filters = arena_get_array(arena, from->n_filters, sizeof *filters);
    if (!filters) return false;
    for (size_t i = 0; i < from->n_filters; i++) {
        const Stagewire__V1__ChannelFilter *filter = from->filters[i];
        filters[i] = (struct channel_filter){
            .stages = filter->stages,
            .stage_count = (uint32_t)filter->n_stages,
            .groups = filter->groups,
            .group_count = (uint32_t)filter->n_groups,
            .channels = (const char *const *)filter->channels,
            .channel_count = (uint32_t)filter->n_channels,
        };
    }
    to->filters = filters;
    to->filter_count = (uint32_t)from->n_filters;
    return true;
}

static bool positions_from_pb(struct arena *arena, const Stagewire__V1__WatchLossMetricsRequest *from,
                              struct watch_request *to) {
    sw_address *positions = arena_get_array(arena, from->n_positions, sizeof *positions);
    if (!positions) return false;
    for (size_t i = 0; i < from->n_positions; i++) positions[i] = pb_to_address(from->positions[i]);
    to->positions = positions;
    to->position_count = (uint32_t)from->n_positions;
    return true;
}

sw_status watch_request_decode(const void *data, size_t size, struct arena *arena, struct watch_request *ret,
                               sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__watch_loss_metrics_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__WatchLossMetricsRequest *message = (void *)unpacked;
    struct watch_request request = {
        .run_id = message->run_id,
        .start = message->start ? (enum watch_start)message->start : WATCH_NEW,
    };
    if (!filters_from_pb(arena, message, &request) || !positions_from_pb(arena, message, &request))
        return decode_out_of_memory(arena, error);
    status = check_request(&request, arena, error);
    if (status == SW_OK) *ret = request;
    return status;
}
