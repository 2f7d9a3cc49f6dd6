#include <string.h>

#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/base/sized.h"
#include "proto/base/utf8.h"
#include "service/rpc/endpoint.h"

void sw_endpoint_options_init_sized(sw_endpoint_options *options, size_t size) {
    const struct store_options store = store_options_default();
    const sw_endpoint_options defaults = {
        .store_bytes = store.store_bytes,
        .metrics_bytes = store.metrics_bytes,
        .keep_steps = store.keep_steps,
        .keep_tensor_steps = store.keep_tensor_steps,
        .publisher_grace_ms = store.publisher_grace_ms,
        .drain_grace_ms = store.drain_grace_ms,
        .max_wait_ms = store.max_wait_ms,
        .pin_ms = store.pin_ms,
        .max_waiters = store.max_waiters,
        .max_watches = store.max_watches,
        .max_channels = store.max_channels,
        .max_consumers = store.max_consumers,
        .max_leases = store.max_leases,
        .max_publishes = store.max_publishes,
        .max_calls = LIMIT_CALLS,
        .max_streams = LIMIT_STREAMS,
        .header_bytes = LIMIT_HEADER_BYTES,
        .transport_bytes = LIMIT_TRANSPORT,
        .handshake_timeout_ms = LIMIT_HANDSHAKE_MS,
        .max_connection_age_ms = LIMIT_AGE_MS,
        .connection_age_grace_ms = LIMIT_AGE_GRACE_MS,
        .max_connection_idle_ms = LIMIT_IDLE_MS,
    };
    sized_init(options, size, &defaults, sizeof defaults);
}

static sw_status wrong(sw_error *error, const char *option, const char *why) {
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE, "%s: %s", option, why);
}

static sw_status check_run_id(const char *run_id, sw_error *error) {
    if (!run_id || !*run_id) return wrong(error, "run_id", "missing; name the training job (--run-id NAME)");
    size_t size = strlen(run_id);
    if (size > SW_RUN_ID_MAX) return wrong(error, "run_id", "longer than 256 bytes; choose a shorter name");
    if (!utf8_valid(run_id, size)) return wrong(error, "run_id", "not UTF-8");
    return SW_OK;
}

static sw_status check_counts(const sw_endpoint_options *options, sw_error *error) {
    const struct {
        const char *name;
        uint32_t value;
    } counts[] = {
        {"keep_steps", options->keep_steps},     {"keep_tensor_steps", options->keep_tensor_steps},
        {"max_waiters", options->max_waiters},   {"max_watches", options->max_watches},
        {"max_channels", options->max_channels}, {"max_consumers", options->max_consumers},
        {"max_leases", options->max_leases},     {"max_publishes", options->max_publishes},
        {"max_calls", options->max_calls},       {"max_streams", options->max_streams},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value == 0) return wrong(error, counts[i].name, "0; allow at least 1");
    }
    return SW_OK;
}

/* Less would cut off who does nothing wrong: gRPC's own headers, and messages on their way in. */
#define HEADER_BYTES_MIN    1024u
#define HEADER_BYTES_MAX    (1u << 20)
#define TRANSPORT_BYTES_MIN (16u << 20)

static sw_status check_sizes(const sw_endpoint_options *options, sw_error *error) {
    if (options->header_bytes < HEADER_BYTES_MIN || options->header_bytes > HEADER_BYTES_MAX)
        return wrong(error, "header_bytes", "not from 1 KiB to 1 MiB");
    if (options->transport_bytes < TRANSPORT_BYTES_MIN)
        return wrong(error, "transport_bytes", "below 16 MiB, which would reset messages on their way in");
    return SW_OK;
}

sw_status endpoint_options_check(const sw_endpoint_options *options, sw_error *error) {
    const struct {
        const char *name;
        int64_t value;
    } durations[] = {
        {"publisher_grace_ms", options->publisher_grace_ms},
        {"drain_grace_ms", options->drain_grace_ms},
        {"max_wait_ms", options->max_wait_ms},
        {"pin_ms", options->pin_ms},
        {"handshake_timeout_ms", options->handshake_timeout_ms},
        {"max_connection_age_ms", options->max_connection_age_ms},
        {"connection_age_grace_ms", options->connection_age_grace_ms},
        {"max_connection_idle_ms", options->max_connection_idle_ms},
    };
    sw_status status = check_run_id(options->run_id, error);
    if (status == SW_OK) status = check_counts(options, error);
    if (status == SW_OK) status = check_sizes(options, error);
    if (status != SW_OK) return status;
    if (options->stage_count > 0 && options->stage >= options->stage_count) {
        return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                              "stage: %u, of %u stages; they are counted from 0", options->stage,
                              options->stage_count);
    }
    if (options->listen_count > 0 && !options->listen)
        return wrong(error, "listen", "missing, and listen_count is not 0");
    if (options->handshake_timeout_ms == 0)
        return wrong(error, "handshake_timeout_ms", "0; give it some time");
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        if (durations[i].value < 0) return wrong(error, durations[i].name, "negative");
    }
    return SW_OK;
}

struct store_options endpoint_options_of_store(const sw_endpoint_options *options) {
    struct store_options ret = store_options_default();
    ret.run_id = options->run_id;
    ret.generation = options->generation;
    ret.stage = options->stage;
    ret.keep_steps = options->keep_steps;
    ret.keep_tensor_steps = options->keep_tensor_steps;
    ret.max_lag_steps = options->max_lag_steps;
    ret.store_bytes = options->store_bytes;
    ret.metrics_bytes = options->metrics_bytes;
    ret.pinned_bytes = options->pinned_bytes ? options->pinned_bytes : options->store_bytes;
    ret.publisher_grace_ms = options->publisher_grace_ms;
    ret.drain_grace_ms = options->drain_grace_ms;
    ret.max_wait_ms = options->max_wait_ms;
    ret.pin_ms = options->pin_ms;
    ret.max_waiters = options->max_waiters;
    ret.max_watches = options->max_watches;
    ret.max_channels = options->max_channels;
    ret.max_consumers = options->max_consumers;
    ret.max_leases = options->max_leases;
    ret.max_publishes = options->max_publishes;
    return ret;
}
