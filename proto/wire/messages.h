/* Every message of stage.proto as a plain struct, to bytes and back. Generated types stay behind this header.
 *
 * Decoding: `data` is one whole message; what comes out lives in `arena`, and an error is MALFORMED with the
 * path of the field (`address.channel`, `policies[1].kind`). All rules that a request alone can break are
 * checked here: names, enumerations, unset oneofs, steps beyond SW_STEP_MAX, a stage not below its count, a
 * key or a tensor name twice, shapes that don't fit byte_length, nesting, counts. Scanned for depth and size
 * before protobuf-c sees it. What passes the budget of the arena once it is decoded is TOO_LARGE; without
 * memory it is LIMIT, "memory".
 *
 * Encoding: a new buffer with one reference; RESOURCE_EXHAUSTED without memory. Strings may be NULL for
 * empty. Nothing is checked: that is for the receiver, or for the caller with `…_check`, which holds the
 * rules that decoding applies.
 *
 * All functions are thread-safe. */
#ifndef STAGEWIRE_WIRE_MESSAGES_H
#define STAGEWIRE_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/address.h>
#include <stagewire/buffer.h>
#include <stagewire/status.h>
#include <stagewire/value.h>

#include "proto/base/digest.h"
#include "proto/wire/arena.h"
#include "proto/wire/tensors.h"

/* ---- shared parts ---- */

struct wait_request {
    bool no_wait;
    uint32_t wait_ms; /* 0: unset */
};

struct consumer_request {
    const char *id; /* "": an observer */
    uint64_t release_below;
    bool ends_pins; /* of the steps below */
};

struct tensor_range {
    const char *name;
    uint64_t first_block;
    uint64_t block_count; /* 0: to the end */
};

/* GetLossMetricsRequest and StreamTensorsRequest; the second half is for tensors only. */
struct pull_request {
    sw_address address;
    bool latest;
    struct wait_request wait;
    struct consumer_request consumer;

    const struct tensor_range *ranges;
    uint32_t range_count;
    bool manifest_only;
    uint64_t pin;
    uint64_t hand_over;  /* 0: chunks alone */
    uint64_t byte_limit; /* 0: none */
};

sw_status pull_request_check(const struct pull_request *request, sw_error *error);
sw_status get_metrics_request_encode(const struct pull_request *request, sw_buffer **ret, sw_error *error);
sw_status get_metrics_request_decode(const void *data, size_t size, struct arena *arena,
                                     struct pull_request *ret, sw_error *error);
sw_status stream_tensors_request_encode(const struct pull_request *request, sw_buffer **ret, sw_error *error);
sw_status stream_tensors_request_decode(const void *data, size_t size, struct arena *arena,
                                        struct pull_request *ret, sw_error *error);

/* ---- metrics ---- */

/* A GetLossMetricsResponse is sent as head + the payload (a LossMetrics message) by reference; as event of a
 * watch with its wrapper. Writes the head to `out` and returns its size; `run_id` is the endpoint's. */
#define METRICS_HEAD_MAX 1024
size_t metrics_response_head(const sw_address *address, int64_t published_unix_ns, size_t payload_size,
                             uint8_t *out);
size_t watch_published_head(const sw_address *address, int64_t published_unix_ns, size_t payload_size,
                            uint8_t *out);

struct metrics_response {
    sw_address address;
    const sw_value *metrics; /* a dict or a list of dicts */
    int64_t published_unix_ns;
};
sw_status metrics_response_decode(const void *data, size_t size, struct arena *arena,
                                  struct metrics_response *ret, sw_error *error);

struct publish_metrics_request {
    sw_address address;
    const sw_value *metrics;
};
/* Channel and step; for whoever publishes without a request. */
sw_status publish_address_check(const sw_address *address, sw_error *error);
/* `metrics_bytes` is what metrics_encode made. */
sw_status publish_metrics_request_encode(const sw_address *address, const sw_buffer *metrics_bytes,
                                         sw_buffer **ret, sw_error *error);
sw_status publish_metrics_request_decode(const void *data, size_t size, struct arena *arena,
                                         struct publish_metrics_request *ret, sw_error *error);

/* PublishLossMetricsResponse, PublishTensorsResponse, PublishFailureResponse are one message. */
sw_status published_response_encode(bool duplicate, sw_buffer **ret, sw_error *error);
sw_status published_response_decode(const void *data, size_t size, bool *ret_duplicate, sw_error *error);

/* ---- tensors ---- */

/* StreamTensorsResponse or PublishTensorsRequest with a manifest. */
struct manifest {
    sw_address address;
    uint32_t tensor_count;
    const struct tensor_info *tensors;
    uint32_t block_bytes; /* never 0 once decoded */
    int64_t published_unix_ns;
    uint64_t pin;
    const char *const *via;
    uint32_t via_count;
};
sw_status manifest_encode(const struct manifest *manifest, sw_buffer **ret, sw_error *error);
/* MALFORMED also where the message holds something else than a manifest; TOO_LARGE beyond LIMIT_ITEM_TENSORS.
 */
sw_status manifest_decode(const void *data, size_t size, struct arena *arena, struct manifest *ret,
                          sw_error *error);
/* The same in two steps, as the contract's table has them: names and types are refused before anything else,
 * sizes and shapes only after what the store refuses. Until manifest_check_sizes has passed, byte_length,
 * shape and block_bytes are only claims. */
sw_status manifest_decode_names(const void *data, size_t size, struct arena *arena, struct manifest *ret,
                                sw_error *error);
sw_status manifest_check_sizes(const struct manifest *manifest, sw_error *error);
/* All of it, for whoever publishes without a request. */
sw_status manifest_check(const struct manifest *manifest, sw_error *error);
uint64_t
manifest_bytes(const struct manifest *manifest); /* of all tensors; UINT64_MAX where the sum is beyond that */

/* ---- failure, close, release ---- */

struct publish_failure_request {
    sw_address address;
    sw_item_kind kind;
    const char *message;
};
sw_status publish_failure_request_check(const struct publish_failure_request *request, sw_error *error);
sw_status publish_failure_request_encode(const struct publish_failure_request *request, sw_buffer **ret,
                                         sw_error *error);
sw_status publish_failure_request_decode(const void *data, size_t size, struct arena *arena,
                                         struct publish_failure_request *ret, sw_error *error);

struct close_channel_request {
    sw_address address;
    sw_item_kind kind; /* 0 allowed with `all` */
    bool all;
    sw_close_reason reason;
    const char *message;
};
sw_status close_channel_request_check(const struct close_channel_request *request, sw_error *error);
sw_status close_channel_request_encode(const struct close_channel_request *request, sw_buffer **ret,
                                       sw_error *error);
sw_status close_channel_request_decode(const void *data, size_t size, struct arena *arena,
                                       struct close_channel_request *ret, sw_error *error);

struct release_request {
    sw_address address;
    sw_item_kind kind;
    const struct consumer_request *consumers;
    uint32_t consumer_count;
};
/* An id may be there more than once: the highest release counts. An empty one is MALFORMED. */
sw_status release_request_check(const struct release_request *request, sw_error *error);
sw_status release_request_encode(const struct release_request *request, sw_buffer **ret, sw_error *error);
sw_status release_request_decode(const void *data, size_t size, struct arena *arena,
                                 struct release_request *ret, sw_error *error);

/* CloseChannelResponse, ReleaseResponse. */
sw_status empty_response_encode(sw_buffer **ret, sw_error *error);

/* ---- exchange ---- */

struct exchange_request {
    sw_address address; /* has_stage: the one that speaks */
    uint32_t stage_count;
    bool present;
    const sw_value *value; /* NULL where absent */
    sw_buffer
        *value_bytes; /* its encoding: made by value_encode. Decoding makes a new one: the caller unrefs it */
    struct digest value_digest;
    struct wait_request wait;
};
sw_status exchange_request_check(const struct exchange_request *request, sw_error *error);
sw_status exchange_request_encode(const struct exchange_request *request, sw_buffer **ret, sw_error *error);
sw_status exchange_request_decode(const void *data, size_t size, struct arena *arena,
                                  struct exchange_request *ret, sw_error *error);

struct exchange_response {
    sw_address address;
    const uint32_t *owners;
    uint32_t owner_count;
    const sw_value *value;        /* decoded; NULL where absent */
    const sw_buffer *value_bytes; /* to encode; NULL where absent */
};
sw_status exchange_response_encode(const struct exchange_response *response, sw_buffer **ret,
                                   sw_error *error);
sw_status exchange_response_decode(const void *data, size_t size, struct arena *arena,
                                   struct exchange_response *ret, sw_error *error);

/* ---- attach ---- */

/* A channel and kind declared twice is MALFORMED, and so is a consumer's id that is empty or twice in one
 * policy. */
sw_status attach_request_check(const sw_attachment *request, sw_error *error);
sw_status attach_request_encode(const sw_attachment *request, sw_buffer **ret, sw_error *error);
sw_status attach_request_decode(const void *data, size_t size, struct arena *arena, sw_attachment *ret,
                                sw_error *error);
sw_status attach_response_encode(uint64_t generation, sw_buffer **ret, sw_error *error);
sw_status attach_response_decode(const void *data, size_t size, uint64_t *ret_generation, sw_error *error);

/* ---- watch ---- */

struct channel_filter {
    const uint32_t *stages;
    uint32_t stage_count; /* 0: all, as below */
    const uint32_t *groups;
    uint32_t group_count;
    const char *const *channels; /* a trailing * matches the rest */
    uint32_t channel_count;
};

enum watch_start { WATCH_NEW = 1, WATCH_OLDEST_HELD = 2, WATCH_POSITIONS = 3 };

struct watch_request {
    const char *run_id;
    const struct channel_filter *filters;
    uint32_t filter_count;
    enum watch_start start;
    const sw_address
        *positions; /* the next item wanted, a channel each; each has_stage and names its generation */
    uint32_t position_count;
};
/* A position of each channel at most; each names stage, channel and generation. */
sw_status watch_request_check(const struct watch_request *request, sw_error *error);
sw_status watch_request_encode(const struct watch_request *request, sw_buffer **ret, sw_error *error);
sw_status watch_request_decode(const void *data, size_t size, struct arena *arena, struct watch_request *ret,
                               sw_error *error);

struct channel_closed {
    sw_address last; /* always names stage, group and channel; its step if items is not 0 */
    sw_item_kind kind;
    sw_close_reason reason;
    const char *message;
    uint64_t items;
};

enum watch_event_type {
    WATCH_PUBLISHED = 1,
    WATCH_FAILED,
    WATCH_GAP,
    WATCH_CLOSED,
    WATCH_GENERATION,
    WATCH_HEARTBEAT,
};

struct watch_event {
    enum watch_event_type type;
    struct metrics_response published; /* decoded only: to send one, use watch_published_head */
    struct {
        sw_address address;
        const char *message;
    } failed;
    struct {
        sw_address first_missing;
        bool has_next;
        sw_address next_held;
    } gap;
    struct channel_closed closed;
    uint64_t generation;
    int64_t heartbeat_unix_ns;
};
/* Every type but WATCH_PUBLISHED. */
sw_status watch_event_encode(const struct watch_event *event, sw_buffer **ret, sw_error *error);
sw_status watch_event_decode(const void *data, size_t size, struct arena *arena, struct watch_event *ret,
                             sw_error *error);

/* ---- info ---- */

struct lease_info {
    uint32_t stage, group, stage_count;
    bool lost;
};

struct channel_info {
    bool has_items;            /* something was published: oldest and latest have steps */
    sw_address oldest, latest; /* latest names stage, group and channel in any case */
    sw_item_kind kind;
    uint64_t items;
    uint64_t held_bytes;
    const struct consumer_request *consumers;
    uint32_t consumer_count;
    bool is_closed;
    struct channel_closed closed;
};

/* What an endpoint is busy with: all zero again once its clients have gone. */
struct load_info {
    uint64_t open_calls;
    uint64_t waiting; /* pulls and words of an exchange that wait */
    uint64_t watches;
    uint64_t streams; /* tensor streams being sent */
    uint64_t open_publishes;
    uint64_t pinned_bytes; /* of items that have gone and live on for pins and streams */
    uint64_t metrics_held_bytes;
    uint64_t metrics_bytes;
};

/* Memory that was handed over, in and out, since the endpoint began. */
struct hand_over_info {
    bool is_open;
    uint64_t connections, waiting;
    uint64_t tensors_in, bytes_in, tensors_out, bytes_out;
};

/* Who asks, and what he may do. */
struct caller_info {
    const char *identity; /* NULL: the endpoint doesn't say */
    const char *const *rights;
    uint32_t right_count;
    const char *const *consumers;
    uint32_t consumer_count;
};

struct security_info {
    bool tls, insecure_plaintext;
    const char *name, *issuer, *sha256, *error; /* NULL or "": none */
    int64_t not_after_s, taken_s, failed_s;
    uint64_t taken, failed;
};

struct stage_info {
    const char *run_id;
    uint64_t generation;
    const struct lease_info *leases;
    uint32_t lease_count;
    const char *version;
    const char *const *features;
    uint32_t feature_count;
    const struct channel_info *channels;
    uint32_t channel_count;
    const char *next_page_token;
    uint64_t incarnation;
    uint64_t held_bytes;
    uint64_t store_bytes;
    struct load_info load;
    struct caller_info caller;
    const char *const *warnings;
    uint32_t warning_count;
    struct security_info security;
    struct hand_over_info hand_over;
};
sw_status stage_info_request_encode(const char *page_token, sw_buffer **ret, sw_error *error);
sw_status stage_info_request_decode(const void *data, size_t size, struct arena *arena,
                                    const char **ret_page_token, sw_error *error);
sw_status stage_info_encode(const struct stage_info *info, sw_buffer **ret, sw_error *error);
sw_status stage_info_decode(const void *data, size_t size, struct arena *arena, struct stage_info *ret,
                            sw_error *error);

/* ---- status details ---- */

/* The google.rpc.Status with an ErrorInfo (domain "stagewire") that travels in grpc-status-details-bin. At
 * most LIMIT_STATUS_BYTES together with the message. Decoding never fails: what is not understood leaves
 * reason and details empty. */
sw_status status_details_encode(const sw_error *error_to_send, sw_buffer **ret, sw_error *error);
void status_details_decode(const void *data, size_t size, sw_error *error);

#endif
