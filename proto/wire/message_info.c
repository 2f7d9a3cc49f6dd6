#include "proto/wire/messages.h"

#include "proto/wire/check.h"
#include "proto/wire/message_parts.h"

/* ---- GetStageInfoRequest ---- */

sw_status stage_info_request_encode(const char *page_token, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__GetStageInfoRequest message = STAGEWIRE__V1__GET_STAGE_INFO_REQUEST__INIT;
    message.page_token = pb_text(page_token);
    return pb_pack(&message.base, ret, error);
}

sw_status stage_info_request_decode(const void *data, size_t size, struct arena *arena,
                                    const char **ret_page_token, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__get_stage_info_request__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status == SW_OK)
        *ret_page_token = ((Stagewire__V1__GetStageInfoRequest *)(void *)unpacked)->page_token;
    return status;
}

/* ---- GetStageInfoResponse, encoding ---- */

struct channel_parts {
    Stagewire__V1__ChannelInfo info;
    Stagewire__V1__Address oldest, latest, last;
    Stagewire__V1__ChannelClosed closed;
};

/* `latest` names the channel also where nothing is held; `oldest` is there only where something is. */
static bool channel_to_pb(struct arena *arena, struct channel_parts *to, const struct channel_info *from) {
    stagewire__v1__channel_info__init(&to->info);
    if (from->has_items) pb_from_address(to->info.oldest = &to->oldest, &from->oldest);
    pb_from_address(to->info.latest = &to->latest, &from->latest);
    to->info.kind = (Stagewire__V1__ItemKind)from->kind;
    to->info.items = from->items;
    to->info.held_bytes = from->held_bytes;
    to->info.n_consumers = from->consumer_count;
    if (from->is_closed) closed_to_pb(to->info.closed = &to->closed, &to->last, &from->closed);
    return consumers_to_pb(arena, from->consumers, from->consumer_count, &to->info.consumers);
}

static bool channels_to_pb(struct arena *arena, const struct stage_info *from,
                           Stagewire__V1__GetStageInfoResponse *to) {
    struct channel_parts *channels;
    if (!pb_array(arena, from->channel_count, sizeof *channels, (void **)&channels, (void ***)&to->channels))
        return false;
    for (uint32_t i = 0; i < from->channel_count; i++) {
        if (!channel_to_pb(arena, &channels[i], &from->channels[i])) return false;
    }
    to->n_channels = from->channel_count;
    return true;
}

static bool leases_to_pb(struct arena *arena, const struct stage_info *from,
                         Stagewire__V1__GetStageInfoResponse *to) {
    Stagewire__V1__Lease *leases;
    if (!pb_array(arena, from->lease_count, sizeof *leases, (void **)&leases, (void ***)&to->leases))
        return false;
    for (uint32_t i = 0; i < from->lease_count; i++) {
        stagewire__v1__lease__init(&leases[i]);
        leases[i].stage = from->leases[i].stage;
        leases[i].group = from->leases[i].group;
        leases[i].stage_count = from->leases[i].stage_count;
        leases[i].lost = from->leases[i].lost;
    }
    to->n_leases = from->lease_count;
    return true;
}

static void load_to_pb(Stagewire__V1__Load *to, const struct load_info *from) {
    stagewire__v1__load__init(to);
    to->open_calls = from->open_calls;
    to->waiting = from->waiting;
    to->watches = from->watches;
    to->streams = from->streams;
    to->open_publishes = from->open_publishes;
    to->pinned_bytes = from->pinned_bytes;
    to->metrics_held_bytes = from->metrics_held_bytes;
    to->metrics_bytes = from->metrics_bytes;
}

static void hand_over_to_pb(Stagewire__V1__HandOver *to, const struct hand_over_info *from) {
    stagewire__v1__hand_over__init(to);
    to->connections = from->connections;
    to->waiting = from->waiting;
    to->tensors_in = from->tensors_in;
    to->bytes_in = from->bytes_in;
    to->tensors_out = from->tensors_out;
    to->bytes_out = from->bytes_out;
}

static void caller_to_pb(Stagewire__V1__Caller *to, const struct caller_info *from) {
    stagewire__v1__caller__init(to);
    to->identity = pb_text(from->identity);
    to->n_rights = from->right_count;
    to->rights = (char **)from->rights;
    to->n_consumer_ids = from->consumer_count;
    to->consumer_ids = (char **)from->consumers;
}

static void security_to_pb(Stagewire__V1__Security *to, const struct security_info *from) {
    stagewire__v1__security__init(to);
    to->tls = from->tls;
    to->insecure_plaintext = from->insecure_plaintext;
    to->name = pb_text(from->name);
    to->issuer = pb_text(from->issuer);
    to->sha256 = pb_text(from->sha256);
    to->not_after_unix_s = from->not_after_s;
    to->taken_unix_s = from->taken_s;
    to->taken = from->taken;
    to->failed = from->failed;
    to->failed_unix_s = from->failed_s;
    to->error = pb_text(from->error);
}

sw_status stage_info_encode(const struct stage_info *info, sw_buffer **ret, sw_error *error) {
    Stagewire__V1__GetStageInfoResponse message = STAGEWIRE__V1__GET_STAGE_INFO_RESPONSE__INIT;
    Stagewire__V1__Load load;
    Stagewire__V1__Caller caller;
    Stagewire__V1__Security security;
    Stagewire__V1__HandOver hand_over;
    struct arena arena;
    message.run_id = pb_text(info->run_id);
    message.generation = info->generation;
    message.version = pb_text(info->version);
    message.n_features = info->feature_count;
    message.features = (char **)info->features;
    message.next_page_token = pb_text(info->next_page_token);
    message.incarnation = info->incarnation;
    message.held_bytes = info->held_bytes;
    message.store_bytes = info->store_bytes;
    load_to_pb(message.load = &load, &info->load);
    if (info->caller.identity) caller_to_pb(message.caller = &caller, &info->caller);
    message.n_warnings = info->warning_count;
    message.warnings = (char **)info->warnings;
    security_to_pb(message.security = &security, &info->security);
    if (info->hand_over.is_open) hand_over_to_pb(message.hand_over = &hand_over, &info->hand_over);
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = leases_to_pb(&arena, info, &message) && channels_to_pb(&arena, info, &message);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}

/* ---- GetStageInfoResponse, decoding ---- */

static sw_status read_channel(struct arena *arena, const Stagewire__V1__ChannelInfo *from,
                              const struct path *path, struct channel_info *to, sw_error *error) {
    struct path latest = path_field(path, "latest"), kind = path_field(path, "kind");
    struct path closed = path_field(path, "closed"), oldest = path_field(path, "oldest");
    *to = (struct channel_info){
        .has_items = from->oldest != NULL,
        .oldest = pb_to_address(from->oldest ? from->oldest : from->latest),
        .latest = pb_to_address(from->latest),
        .kind = (sw_item_kind)from->kind,
        .items = from->items,
        .held_bytes = from->held_bytes,
        .consumer_count = (uint32_t)from->n_consumers,
        .is_closed = from->closed != NULL,
    };
    if (!consumers_from_pb(arena, from->consumers, from->n_consumers, &to->consumers))
        return decode_out_of_memory(arena, error);
    sw_status status = check_address(&to->latest, CHECK_CHANNEL | CHECK_STAGE | CHECK_STEP, &latest, error);
    if (status == SW_OK) status = check_address(&to->oldest, CHECK_CHANNEL | CHECK_STEP, &oldest, error);
    if (status == SW_OK) status = check_kind((int)to->kind, &kind, error);
    if (status == SW_OK && from->closed) status = closed_from_pb(from->closed, &closed, &to->closed, error);
    return status;
}

static sw_status read_channels(struct arena *arena, const Stagewire__V1__GetStageInfoResponse *from,
                               struct stage_info *to, sw_error *error) {
    struct path path = path_field(NULL, "channels");
    struct channel_info *channels = arena_get_array(arena, from->n_channels, sizeof *channels);
    if (!channels) return decode_out_of_memory(arena, error);
    for (size_t i = 0; i < from->n_channels; i++) {
        struct path channel = path_index(&path, i);
        sw_status status = read_channel(arena, from->channels[i], &channel, &channels[i], error);
        if (status != SW_OK) return status;
    }
    to->channels = channels;
    to->channel_count = (uint32_t)from->n_channels;
    return SW_OK;
}

static bool read_leases(struct arena *arena, const Stagewire__V1__GetStageInfoResponse *from,
                        struct stage_info *to) {
    struct lease_info *leases = arena_get_array(arena, from->n_leases, sizeof *leases);
    if (!leases) return false;
    for (size_t i = 0; i < from->n_leases; i++) {
        const Stagewire__V1__Lease *lease = from->leases[i];
        leases[i] = (struct lease_info){lease->stage, lease->group, lease->stage_count, lease->lost != 0};
    }
    to->leases = leases;
    to->lease_count = (uint32_t)from->n_leases;
    return true;
}

static struct load_info read_load(const Stagewire__V1__Load *from) {
    if (!from) return (struct load_info){0};
    return (struct load_info){
        .open_calls = from->open_calls,
        .waiting = from->waiting,
        .watches = from->watches,
        .streams = from->streams,
        .open_publishes = from->open_publishes,
        .pinned_bytes = from->pinned_bytes,
        .metrics_held_bytes = from->metrics_held_bytes,
        .metrics_bytes = from->metrics_bytes,
    };
}

static struct hand_over_info read_hand_over(const Stagewire__V1__HandOver *from) {
    if (!from) return (struct hand_over_info){0};
    return (struct hand_over_info){
        .is_open = true,
        .connections = from->connections,
        .waiting = from->waiting,
        .tensors_in = from->tensors_in,
        .bytes_in = from->bytes_in,
        .tensors_out = from->tensors_out,
        .bytes_out = from->bytes_out,
    };
}

static struct caller_info read_caller(const Stagewire__V1__Caller *from) {
    if (!from) return (struct caller_info){0};
    return (struct caller_info){
        .identity = from->identity,
        .rights = (const char *const *)from->rights,
        .right_count = (uint32_t)from->n_rights,
        .consumers = (const char *const *)from->consumer_ids,
        .consumer_count = (uint32_t)from->n_consumer_ids,
    };
}

static struct security_info read_security(const Stagewire__V1__Security *from) {
    if (!from) return (struct security_info){.name = "", .issuer = "", .sha256 = "", .error = ""};
    return (struct security_info){
        .tls = from->tls,
        .insecure_plaintext = from->insecure_plaintext,
        .name = from->name,
        .issuer = from->issuer,
        .sha256 = from->sha256,
        .not_after_s = from->not_after_unix_s,
        .taken_s = from->taken_unix_s,
        .taken = from->taken,
        .failed = from->failed,
        .failed_s = from->failed_unix_s,
        .error = from->error,
    };
}

sw_status stage_info_decode(const void *data, size_t size, struct arena *arena, struct stage_info *ret,
                            sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&stagewire__v1__get_stage_info_response__descriptor, span_of(data, size),
                                 arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Stagewire__V1__GetStageInfoResponse *message = (void *)unpacked;
    struct stage_info info = {
        .run_id = message->run_id,
        .generation = message->generation,
        .version = message->version,
        .features = (const char *const *)message->features,
        .feature_count = (uint32_t)message->n_features,
        .next_page_token = message->next_page_token,
        .incarnation = message->incarnation,
        .held_bytes = message->held_bytes,
        .store_bytes = message->store_bytes,
        .load = read_load(message->load),
        .caller = read_caller(message->caller),
        .warnings = (const char *const *)message->warnings,
        .warning_count = (uint32_t)message->n_warnings,
        .security = read_security(message->security),
        .hand_over = read_hand_over(message->hand_over),
    };
    if (!read_leases(arena, message, &info)) return decode_out_of_memory(arena, error);
    status = read_channels(arena, message, &info, error);
    if (status == SW_OK) *ret = info;
    return status;
}
