#include <stdlib.h>
#include <string.h>

#include "client/rpc/call.h"
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/transport/slices.h"

/* All pages together: what an endpoint with LIMIT_CHANNELS long names has to say, and a bound for one that
 * never comes to an end. */
#define INFO_BYTES_MAX (4u * LIMIT_DECODE_BYTES)

struct info_page {
    struct stage_info info;
    struct info_page *next;
};

struct info_result {
    sw_info info;
    struct arena arena;
};

struct info_call {
    struct sw_call call;
    struct info_result *result;
    struct info_page *first, **end;
    const char *page_token;
};

static struct info_call *info_of(struct sw_call *call) {
    return container_of(call, struct info_call, call);
}

static struct info_result *result_create(void) {
    struct info_result *result = calloc(1, sizeof *result);
    if (result) arena_init(&result->arena, &allocator_system, INFO_BYTES_MAX);
    return result;
}

void sw_info_destroy(sw_info *info) {
    if (!info) return;
    struct info_result *result = container_of(info, struct info_result, info);
    arena_destroy(&result->arena);
    free(result);
}

/* ---- pages ---- */

static sw_status info_request(struct sw_call *call, int64_t left_ms, sw_buffer **ret_request, bool *ret_more,
                              sw_error *error) {
    (void)left_ms;
    (void)ret_more;
    return stage_info_request_encode(info_of(call)->page_token, ret_request, error);
}

static sw_status decode(struct info_call *call, const struct message_flat *flat, sw_error *error) {
    struct arena *arena = &call->result->arena;
    struct info_page *page = arena_get(arena, sizeof *page);
    if (!page) return error_no_memory(error);
    sw_error why = {0};
    if (stage_info_decode(flat->data, flat->size, arena, &page->info, &why) != SW_OK)
        return call_unreadable(&call->call, &why, error);
    page->next = NULL;
    *call->end = page;
    call->end = &page->next;
    call->page_token = page->info.next_page_token;
    return SW_OK;
}

static sw_status info_message(struct sw_call *call, grpc_byte_buffer *message, sw_error *error) {
    struct message_flat flat;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    status = decode(info_of(call), &flat, error);
    message_flat_free(&flat);
    return status;
}

/* ---- all pages as one ---- */

static bool convert_channel(struct arena *arena, const struct channel_info *from, sw_channel_info *to) {
    const char **consumers = arena_get(arena, from->consumer_count * sizeof *consumers);
    uint64_t *released = arena_get(arena, from->consumer_count * sizeof *released);
    if (!consumers || !released) return false;
    for (uint32_t i = 0; i < from->consumer_count; i++) {
        consumers[i] = from->consumers[i].id;
        released[i] = from->consumers[i].release_below;
    }
    *to = (sw_channel_info){
        .oldest = from->oldest,
        .latest = from->latest,
        .has_items = from->has_items,
        .kind = from->kind,
        .items = from->items,
        .held_bytes = from->held_bytes,
        .consumers = consumers,
        .released_below = released,
        .consumer_count = from->consumer_count,
        .is_closed = from->is_closed,
        .closed_reason = from->closed.reason,
        .closed_message = from->closed.message,
    };
    return true;
}

static bool convert_channels(struct info_call *call, sw_info *info) {
    struct arena *arena = &call->result->arena;
    uint32_t count = 0;
    for (struct info_page *page = call->first; page; page = page->next) count += page->info.channel_count;
    sw_channel_info *channels = arena_get(arena, count * sizeof *channels);
    if (!channels) return false;
    uint32_t used = 0;
    for (struct info_page *page = call->first; page; page = page->next)
        for (uint32_t i = 0; i < page->info.channel_count; i++)
            if (!convert_channel(arena, &page->info.channels[i], &channels[used++])) return false;
    info->channels = channels;
    info->channel_count = count;
    return true;
}

static bool convert_leases(struct arena *arena, const struct stage_info *from, sw_info *info) {
    sw_lease_info *leases = arena_get(arena, from->lease_count * sizeof *leases);
    if (!leases) return false;
    for (uint32_t i = 0; i < from->lease_count; i++) {
        const struct lease_info *lease = &from->leases[i];
        leases[i] = (sw_lease_info){lease->stage, lease->group, lease->stage_count, lease->lost};
    }
    info->leases = leases;
    info->lease_count = from->lease_count;
    return true;
}

static sw_security_info convert_security(const struct security_info *from) {
    return (sw_security_info){
        .tls = from->tls,
        .insecure_plaintext = from->insecure_plaintext,
        .name = from->name,
        .issuer = from->issuer,
        .sha256 = from->sha256,
        .not_after_unix_s = from->not_after_s,
        .taken_unix_s = from->taken_s,
        .taken = from->taken,
        .failed = from->failed,
        .failed_unix_s = from->failed_s,
        .error = from->error,
    };
}

/* Whether this client reaches it is seen by connecting, as the first large tensor would. */
static sw_hand_over_info convert_hand_over(struct info_call *call, const struct hand_over_info *from) {
    struct hand_over *own = &call->call.client->hand_over;
    sw_hand_over_info ret = {
        .is_open = from->is_open,
        .is_reached = from->is_open && hand_over_begin(own) != 0,
        .connections = from->connections,
        .waiting = from->waiting,
        .tensors_in = from->tensors_in,
        .bytes_in = from->bytes_in,
        .tensors_out = from->tensors_out,
        .bytes_out = from->bytes_out,
    };
    if (from->is_open) hand_over_end(own);
    return ret;
}

static bool convert(struct info_call *call) {
    const struct stage_info *from = &call->first->info;
    call->result->info = (sw_info){
        .run_id = from->run_id,
        .generation = from->generation,
        .version = from->version,
        .features = from->features,
        .feature_count = from->feature_count,
        .incarnation = from->incarnation,
        .held_bytes = from->held_bytes,
        .store_bytes = from->store_bytes,
        .metrics_held_bytes = from->load.metrics_held_bytes,
        .metrics_bytes = from->load.metrics_bytes,
        .pinned_bytes = from->load.pinned_bytes,
        .open_calls = from->load.open_calls,
        .waiting = from->load.waiting,
        .watches = from->load.watches,
        .streams = from->load.streams,
        .open_publishes = from->load.open_publishes,
        .caller = from->caller.identity,
        .rights = from->caller.rights,
        .right_count = from->caller.right_count,
        .consumer_ids = from->caller.consumers,
        .consumer_id_count = from->caller.consumer_count,
        .warnings = from->warnings,
        .warning_count = from->warning_count,
        .security = convert_security(&from->security),
        .hand_over = convert_hand_over(call, &from->hand_over),
    };
    return convert_leases(&call->result->arena, from, &call->result->info) &&
           convert_channels(call, &call->result->info);
}

static enum call_next info_settle(struct sw_call *call, sw_error *error) {
    struct info_call *info = info_of(call);
    if (error->code != SW_OK || call->answers == 0) return CALL_AS_USUAL;
    call_progress(call);
    if (info->page_token && info->page_token[0]) return CALL_GO_ON;
    if (!convert(info)) error_no_memory(error);
    return CALL_DONE;
}

static void info_call_destroy(struct sw_call *call) {
    struct info_call *info = info_of(call);
    if (info->result) sw_info_destroy(&info->result->info);
    call_fini(call);
    free(info);
}

static const struct call_ops info_ops = {
    .method = "/stagewire.v1.StageService/GetStageInfo",
    .request = info_request,
    .message = info_message,
    .settle = info_settle,
    .destroy = info_call_destroy,
};

sw_status sw_client_info(sw_client *client, int64_t timeout_ms, sw_info **ret_info, sw_error *error) {
    struct info_call *info = calloc(1, sizeof *info);
    if (!info) return error_no_memory(error);
    sw_status status = call_init(&info->call, &info_ops, client, NULL, SW_METRICS, timeout_ms, error);
    if (status != SW_OK) {
        free(info);
        return status;
    }
    info->end = &info->first;
    info->result = result_create();
    status = info->result ? call_run(&info->call, error) : error_no_memory(error);
    if (status == SW_OK) {
        *ret_info = &info->result->info;
        info->result = NULL;
    }
    sw_call_destroy(&info->call);
    return status;
}
