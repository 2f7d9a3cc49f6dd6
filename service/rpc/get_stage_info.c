/* GetStageInfo: what the endpoint holds and is busy with, a page at a time. */
#include "proto/transport/tls_source.h"
#include "service/rpc/call.h"
#include "service/rpc/gate.h"
#include "service/rpc/guard.h"
#include "service/rpc/hand_over.h"
#include "service/rpc/methods.h"
#include "service/rpc/server.h"

/* The last one goes for those who may publish. */
static const char *const features[] = {"metrics", "tensors", "exchange", "watch", "publish"};

/* What is pointed to until the answer is encoded. */
struct extras {
    const char *rights[RIGHT_COUNT];
    const char *warnings[1];
};

static void add_extras(const struct call *call, struct extras *extras, struct stage_info *info) {
    const struct access_grant *grant = &call->rights.grant;
    const char *problem = call->server->all->gate.access.problem;
    uint32_t count = 0;
    for (unsigned bit = 0; bit < RIGHT_COUNT; bit++) {
        if (grant->rights & 1u << bit) extras->rights[count++] = right_names[bit];
    }
    info->caller = (struct caller_info){.identity = call->rights.identity,
                                        .rights = extras->rights,
                                        .right_count = count,
                                        .consumers = grant->consumers,
                                        .consumer_count = grant->consumer_count};
    extras->warnings[0] = problem;
    info->warnings = extras->warnings;
    info->warning_count = *problem != 0;
}

static sw_status encode(const struct servers *all, struct stage_info *info, sw_buffer **ret,
                        sw_error *error) {
    struct tls_source_state state = {0};
    info->security = (struct security_info){.insecure_plaintext = all->insecure_plaintext};
    if (all->tls) {
        tls_source_state(all->tls, &state);
        info->security = (struct security_info){
            .tls = true,
            .name = state.identity->name,
            .issuer = state.identity->issuer,
            .sha256 = state.identity->fingerprint,
            .error = state.error,
            .not_after_s = state.identity->not_after_s,
            .taken_s = state.taken_s,
            .failed_s = state.failed_s,
            .taken = state.taken,
            .failed = state.failed,
        };
    }
    sw_status status = stage_info_encode(info, ret, error);
    tls_identity_unref(state.identity);
    return status;
}

static void begin(struct call *call, const void *data, size_t size) {
    const struct servers *all = call->server->all;
    struct stage_info info = {0};
    struct extras extras;
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
        info.feature_count =
            sizeof features / sizeof *features - !(call->rights.grant.rights & RIGHT_PUBLISH);
        add_extras(call, &extras, &info);
        info.incarnation = all->incarnation;
        info.load.open_calls = servers_open_calls(all);
        if (all->hand_over) info.hand_over = *hand_over_counts(all->hand_over);
        status = encode(all, &info, &response, &error);
    }
    call_reply_encoded(call, status, response, &error);
}

const struct method get_stage_info = {.path = STAGE_SERVICE "GetStageInfo", .begin = begin};
