/* Publishing, as an interface: an endpoint in the process (stagewire/endpoint.h) and an endpoint beside it
 * (stagewire/client.h, sw_client_publisher) take the same calls.
 *
 * Items are immutable and appear whole. Publishing never waits for a consumer. When a call returns, the
 * caller may change its memory, unless it handed it over by reference (sw_named_tensor.buffer). Steps and
 * calls grow strictly within a channel. All calls may be made from any thread; those of one channel must be
 * made in order. `timeout_ms` 0 means the publisher's default (10 minutes); STORE_FULL and
 * PUBLISH_IN_PROGRESS are retried until then.
 *
 * Errors: MALFORMED, RUN_MISMATCH, SHUTTING_DOWN, STALE_GENERATION, NOT_ATTACHED, CONFLICT, STEP_WENT_BACK,
 * CHANNEL_CLOSED, PUBLISH_IN_PROGRESS, TOO_LARGE, STORE_FULL, CHECKSUM; over RPC also ENDPOINT_LOST,
 * UNAVAILABLE and DEADLINE_EXCEEDED. */
#ifndef STAGEWIRE_PUBLISHER_H
#define STAGEWIRE_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/address.h>
#include <stagewire/status.h>
#include <stagewire/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_publisher sw_publisher;
typedef struct sw_lease sw_lease;

/* `metrics` is a dict or a list of dicts. *ret_duplicate (NULL is fine): the same content was there already.
 */
SW_API sw_status sw_publish_metrics(sw_publisher *publisher, const sw_address *address,
                                    const sw_value *metrics, int64_t timeout_ms, bool *ret_duplicate,
                                    sw_error *error);

/* All tensors of the item, or none. Names are unique. */
SW_API sw_status sw_publish_tensors(sw_publisher *publisher, const sw_address *address,
                                    const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                                    bool *ret_duplicate, sw_error *error);

/* There will be no such item, and why: whoever pulls it gets STEP_FAILED with the message at once. */
SW_API sw_status sw_publish_failure(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                                    const char *message, int64_t timeout_ms, bool *ret_duplicate,
                                    sw_error *error);

/* FINISHED or ABORTED; step and call are ignored. `all`: every channel and kind of (stage, group); the
 * channel is then ignored. */
SW_API sw_status sw_close_channel(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                                  bool all, sw_close_reason reason, const char *message, int64_t timeout_ms,
                                  sw_error *error);

/* Holds a lease of (stage, group) and declares policies. POLICY_CONFLICT, STALE_GENERATION as errors of their
 * own. sw_lease_release ends it (takes NULL); the publisher grace begins then if it was the last. */
SW_API sw_status sw_attach(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                           sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error);
SW_API void sw_lease_release(sw_lease *lease);

/* SW_OK while the lease stands (or is being re-established); else why it ended: STALE_GENERATION,
 * ENDPOINT_LOST. */
SW_API sw_status sw_lease_check(sw_lease *lease, sw_error *error);

/* For those who implement the interface: embed these first in your own structs. */
typedef struct sw_lease_ops {
    void (*release)(sw_lease *lease);
    sw_status (*check)(sw_lease *lease, sw_error *error);
} sw_lease_ops;

struct sw_lease {
    const sw_lease_ops *ops;
};

typedef struct sw_publisher_ops {
    sw_status (*publish_metrics)(sw_publisher *publisher, const sw_address *address, const sw_value *metrics,
                                 int64_t timeout_ms, bool *ret_duplicate, sw_error *error);
    sw_status (*publish_tensors)(sw_publisher *publisher, const sw_address *address,
                                 const sw_named_tensor *tensors, size_t count, int64_t timeout_ms,
                                 bool *ret_duplicate, sw_error *error);
    sw_status (*publish_failure)(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                                 const char *message, int64_t timeout_ms, bool *ret_duplicate,
                                 sw_error *error);
    sw_status (*close_channel)(sw_publisher *publisher, const sw_address *address, sw_item_kind kind,
                               bool all, sw_close_reason reason, const char *message, int64_t timeout_ms,
                               sw_error *error);
    sw_status (*attach)(sw_publisher *publisher, const sw_attachment *attachment, int64_t timeout_ms,
                        sw_lease **ret_lease, uint64_t *ret_generation, sw_error *error);
} sw_publisher_ops;

struct sw_publisher {
    const sw_publisher_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
