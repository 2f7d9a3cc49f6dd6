/* GetStageInfo: what the endpoint holds and is busy with, a page at a time. */
#include "service/rpc/call.h"
#include "service/rpc/guard.h"
#include "service/rpc/methods.h"
#include "service/rpc/server.h"

static const char *const features[] = {"metrics", "tensors", "exchange", "watch", "publish"};

static void begin(struct call *call, const void *data, size_t size) {
    const struct servers *all = call->server->all;
    struct stage_info info = {0};
    const char *page_token;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = stage_info_request_decode(data, size, &call->arena, &page_token, &error);
    if (status == SW_OK) {
        status = store_info(guard_lock(call->guard), page_token, &call->arena, &info, &error);
        guard_unlock(call->guard);
    }
    if (status == SW_OK) {
        info.version = STAGEWIRE_VERSION;
        info.features = features;
        info.feature_count = sizeof features / sizeof *features - !call->server->publishes;
        info.incarnation = all->incarnation;
        info.load.open_calls = servers_open_calls(all);
        status = stage_info_encode(&info, &response, &error);
    }
    call_reply_encoded(call, status, response, &error);
}

const struct method get_stage_info = {.path = STAGE_SERVICE "GetStageInfo", .begin = begin};
