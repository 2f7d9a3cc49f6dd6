/* Publishing from the endpoint's own process: the rules of the wire, then straight into the store. */
#include <string.h>

#include "proto/base/error.h"
#include "proto/wire/value_codec.h"
#include "service/rpc/endpoint_lease.h"
#include "service/rpc/local_publish.h"
#include "service/rpc/local_tensors.h"

/* ---- metrics ---- */

struct metrics_attempt {
    sw_address address;
    sw_buffer *bytes;
    struct digest digest;
    bool duplicate;
};

static sw_status attempt_metrics(struct store *store, void *context, sw_error *error) {
    struct metrics_attempt *attempt = context;
    return store_publish_metrics(store, &attempt->address, attempt->bytes, attempt->digest,
                                 &attempt->duplicate, error);
}

static sw_status publish_metrics(sw_publisher *publisher, const sw_address *address, const sw_value *metrics,
                                 int64_t timeout_ms, bool *ret_duplicate, sw_error *error) {
    struct local_publish local;
    struct metrics_attempt attempt = {.address = local_address(address)};
    sw_status status = local_publish_begin(&local, publisher, timeout_ms, error);
    if (status != SW_OK) return status;
    status = publish_address_check(&attempt.address, error);
    if (status == SW_OK) status = metrics_encode(metrics, true, &attempt.bytes, &attempt.digest, error);
    if (status != SW_OK) return local_publish_end(&local, status);
    status = local_publish_retry(&local, attempt_metrics, &attempt, error);
    sw_buffer_unref(attempt.bytes);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = attempt.duplicate;
    return local_publish_end(&local, status);
}

/* ---- failures and closing ---- */

struct failure_attempt {
    struct publish_failure_request request;
    bool duplicate;
};

static sw_status attempt_failure(struct store *store, void *context, sw_error *error) {
    struct failure_attempt *attempt = context;
    const struct publish_failure_request *request = &attempt->request;
    return store_publish_failure(store, &request->address, request->kind, request->message,
                                 &attempt->duplicate, error);
}

static sw_status publish_failure_locally(sw_publisher *publisher, const sw_address *address,
                                         sw_item_kind kind, const char *message, int64_t timeout_ms,
                                         bool *ret_duplicate, sw_error *error) {
    struct local_publish local;
    struct failure_attempt attempt = {
        .request = {.address = local_address(address), .kind = kind, .message = message ? message : ""}};
    sw_status status = local_publish_begin(&local, publisher, timeout_ms, error);
    if (status != SW_OK) return status;
    status = publish_failure_request_check(&attempt.request, error);
    if (status == SW_OK) status = local_publish_retry(&local, attempt_failure, &attempt, error);
    if (status == SW_OK && ret_duplicate) *ret_duplicate = attempt.duplicate;
    return local_publish_end(&local, status);
}

static sw_status attempt_close(struct store *store, void *context, sw_error *error) {
    const struct close_channel_request *request = context;
    return store_close(store, &request->address, request->kind, request->all, request->reason,
                       request->message, error);
}

static sw_status close_channel_locally(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                                       bool all, sw_close_reason reason, const char *message,
                                       int64_t timeout_ms, sw_error *error) {
    struct local_publish local;
    struct close_channel_request request = {.address = local_address(address),
                                            .kind = kind,
                                            .all = all,
                                            .reason = reason,
                                            .message = message ? message : ""};
    sw_status status = local_publish_begin(&local, publisher, timeout_ms, error);
    if (status != SW_OK) return status;
    status = close_channel_request_check(&request, error);
    if (status == SW_OK) status = local_publish_retry(&local, attempt_close, &request, error);
    return local_publish_end(&local, status);
}

const sw_publisher_ops endpoint_publisher_ops = {
    .publish_metrics = publish_metrics,
    .publish_tensors = local_publish_tensors,
    .publish_failure = publish_failure_locally,
    .close_channel = close_channel_locally,
    .attach = endpoint_attach,
};
