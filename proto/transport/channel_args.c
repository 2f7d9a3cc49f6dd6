#include "proto/transport/channel_args.h"

#include <assert.h>
#include <limits.h>

#include <grpc/compression.h>

#include "proto/base/limits.h"

/* A peer that vanished without a word is noticed after the sum of the two. */
#define KEEPALIVE_TIME_MS    10000
#define KEEPALIVE_TIMEOUT_MS 10000 /* a gRPC client without calls looks at its connection every 5 s */

/* Pings that come faster than this, with nothing sent between them, are a flood. */
#define PING_INTERVAL_MIN_MS 1000

/* A name that moved to another address: its old one is gone, so it is looked up again. gRPC's own 30 s are
 * all the grace that an endpoint has. */
#define RESOLVE_AGAIN_MS 1000

void channel_args_add(struct channel_args *args, const char *key, int value) {
    assert(args->list.num_args < CHANNEL_ARGS_MAX);
    args->list.args = args->args;
    args->args[args->list.num_args++] =
        (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value};
}

static void add_common(struct channel_args *args) {
    args->list.num_args = 0;
    channel_args_add(args, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, LIMIT_RECEIVE_BYTES);
    channel_args_add(args, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
    channel_args_add(args, GRPC_ARG_HTTP2_BDP_PROBE, 1);
    channel_args_add(args, GRPC_ARG_TCP_TX_ZEROCOPY_ENABLED, 0);
    channel_args_add(args, GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_TIME_MS);
    channel_args_add(args, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS);
    channel_args_add(args, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    channel_args_add(args, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    /* What is compressed may unfold to anything: nobody is offered to send it. */
    channel_args_add(args, GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
}

static void add_count(struct channel_args *args, const char *key, uint64_t count) {
    channel_args_add(args, key, count > INT_MAX ? INT_MAX : (int)count);
}

/* INT_MAX is gRPC's "never". */
static void add_duration(struct channel_args *args, const char *key, int64_t ms) {
    channel_args_add(args, key, ms == 0 || ms > INT_MAX ? INT_MAX : (int)ms);
}

static void add_quota(struct channel_args *args, grpc_resource_quota *quota) {
    channel_args_add(args, GRPC_ARG_RESOURCE_QUOTA, 0);
    grpc_arg *arg = &args->args[args->list.num_args - 1];
    arg->type = GRPC_ARG_POINTER;
    arg->value.pointer.p = quota;
    arg->value.pointer.vtable = grpc_resource_quota_arg_vtable();
}

static void add_limits(struct channel_args *args, const struct channel_limits *limits) {
    add_duration(args, GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, limits->handshake_ms);
    add_duration(args, GRPC_ARG_MAX_CONNECTION_AGE_MS, limits->age_ms);
    add_duration(args, GRPC_ARG_MAX_CONNECTION_IDLE_MS, limits->idle_ms);
    add_count(args, GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, (uint64_t)limits->age_grace_ms);
    add_count(args, GRPC_ARG_MAX_CONCURRENT_STREAMS, limits->streams);
    add_count(args, GRPC_ARG_MAX_METADATA_SIZE, limits->header_bytes);
    add_quota(args, limits->quota);
}

void channel_args_server(struct channel_args *ret, const struct channel_limits *limits) {
    add_common(ret);
    add_limits(ret, limits);
    channel_args_add(ret, GRPC_ARG_ALLOW_REUSEPORT, 0);
    channel_args_add(ret, GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, PING_INTERVAL_MIN_MS);
}

void channel_args_client(struct channel_args *ret) {
    add_common(ret);
    channel_args_add(ret, GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_args_add(ret, GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, RESOLVE_AGAIN_MS);
    channel_args_add(ret, GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
}
