/* Pulling from an endpoint, and publishing to one that stands beside the trainer.
 *
 * A client is one connection to one endpoint. A thread of the library drives all clients of the process; a
 * caller that waits for the only thing under way does that thread's work meanwhile, and wakes nobody. All
 * functions may be called from any thread; a `sw_call` or `sw_watch` is used by one thread at a time, but for
 * sw_call_cancel. Every blocking call has a deadline. What can be answered is in the README's table and
 * stagewire/status.h: no pull hangs, and none gets a made-up value.
 *
 * The client retries UNAVAILABLE (without a reason of stagewire's, or with SHUTTING_DOWN), and what an
 * endpoint that ends has cut off, with backoff and jitter until the deadline, where the last error stands. An
 * endpoint that was reached once and is gone for endpoint_grace_ms: UNAVAILABLE / ENDPOINT_LOST. What the
 * endpoint answers is handed on as it is; errors that are made here name the item and the endpoint:
 *
 *   INVALID_ARGUMENT              arguments that can't be; MALFORMED with a path, TOO_LARGE: nothing was sent
 *   DEADLINE_EXCEEDED             nobody answered in time (no reason; NOT_YET is the endpoint's own)
 *   UNAVAILABLE                   never reached in time; ENDPOINT_LOST: reached before, and gone
 *   DATA_LOSS / CHECKSUM          what arrived is not what was published, or is not readable
 *   CANCELLED                     sw_call_cancel, sw_interrupt_set, or the client was closed
 *   RESOURCE_EXHAUSTED            no memory, or no descriptor, on this side
 *   FAILED_PRECONDITION           in a child after fork(), which must not use the client; and from a buffer's
 *                                 release function, which may run where the clients' work is done
 *
 * malloc belongs to the program. With the first client the library frees 8 MiB that were never touched, from
 * which glibc learns to keep what gRPC reads into. A program that sets malloc itself ends that learning, and
 * does well with mallopt(M_TRIM_THRESHOLD, 64 << 20), M_TOP_PAD and M_MMAP_THRESHOLD 4 << 20. */
#ifndef STAGEWIRE_CLIENT_H
#define STAGEWIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/export.h>
#include <stagewire/publisher.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_client sw_client;

#define SW_TIMEOUT_DEFAULT_MS 600000

typedef struct sw_client_options {
    size_t size;               /* set by sw_client_options_init */
    const char *run_id;        /* goes into addresses that name none; NULL: whatever run */
    const char *consumer_id;   /* who pulls; NULL: an observer, which nothing waits for */
    int64_t timeout_ms;        /* of calls that say 0; SW_TIMEOUT_DEFAULT_MS */
    int64_t endpoint_grace_ms; /* 30,000 */
    /* Certificates, PEM files: with them a HOST:PORT is spoken to by TLS alone; Unix sockets are plaintext.
     * They are looked at once a second; what they hold is taken once all of it fits together, for calls from
     * then on, while those under way go on. NULL or "": none. tls_cert alone is one bundle of key, chain and
     * CAs. */
    const char *tls_key;  /* the private key, without a password */
    const char *tls_cert; /* the certificate, and those between it and its CA */
    const char *tls_ca;   /* the CAs that the endpoint is checked against */
    const char *tls_crl;  /* revocation lists: a file, or a folder of files; optional */
    /* Whose the endpoint's certificate must be: "spiffe://TRUST-DOMAIN/PATH", exactly, or a DNS name. NULL or
     * "": of the host in `endpoint`. */
    const char *peer_identity;
    /* How many connections one pull of tensors may open, 1 to 16; 0: 8. It opens more than one only on a long
     * link, and only as many as bring more together than fewer do. Each has up to two calls under way, which
     * count towards the --max-calls of the endpoint. */
    uint32_t connections;
} sw_client_options;

/* Fills in the defaults, and the size that the program knows: options are added at the end only, so that a
 * program runs with a newer library without being built anew. */
SW_API void sw_client_options_init_sized(sw_client_options *options, size_t size);
static inline void sw_client_options_init(sw_client_options *options) {
    sw_client_options_init_sized(options, sizeof *options);
}

/* `endpoint` is "HOST:PORT" or "unix:PATH". Connects in the background: a wrong name shows with the first
 * call. `options` may be NULL. INVALID_ARGUMENT for an endpoint that is neither, and for certificates that do
 * not fit together, with the file and what is wrong with it. */
SW_API sw_status sw_client_open(const char *endpoint, const sw_client_options *options,
                                sw_client **ret_client, sw_error *error);
/* Cancels what is still open and frees. Calls, watches, leases and results must have been destroyed. Takes
 * NULL. */
SW_API void sw_client_close(sw_client *client);

/* ---- what to pull ---- */

typedef struct sw_pull {
    sw_address address;
    bool latest;        /* the newest held; step and call are ignored */
    bool no_wait;       /* NOT_YET at once instead of waiting */
    int64_t timeout_ms; /* 0: the client's */
    /* With a consumer id, an item that arrived whole is released by a later pull of its channel, for a later
     * step: the step that is being pulled may have further calls, and a step of which any pull of this client
     * is under way stays, as one that was pulled with `keep` does until sw_client_release. It goes with the
     * request where the address names generation and stage, else in a Release of its own. A step that was
     * pulled after a newer one may have been released with that. */
    bool keep;
} sw_pull;

/* ---- metrics ---- */

/* What arrived: immutable; one handle owns it all. */
typedef struct sw_metrics sw_metrics;
SW_API const sw_address *sw_metrics_address(const sw_metrics *metrics); /* resolved */
SW_API const sw_value *sw_metrics_value(const sw_metrics *metrics);     /* a dict or a list of dicts */
SW_API int64_t sw_metrics_published_unix_ns(const sw_metrics *metrics);
SW_API void sw_metrics_destroy(sw_metrics *metrics); /* takes NULL */

SW_API sw_status sw_client_get_metrics(sw_client *client, const sw_pull *pull, sw_metrics **ret_metrics,
                                       sw_error *error);

/* ---- tensors ---- */

/* A tensor to pull: by name, into the caller's memory where `into` is set. */
typedef struct sw_tensor_request {
    const char *name;
    void *into;       /* NULL: the library allocates */
    size_t into_size; /* bytes; must equal the tensor's, else INVALID_ARGUMENT says how it differs, and
                         nothing is written */
} sw_tensor_request;

/* A set of tensors that arrived whole, every block checked. Views live as long as it. */
typedef struct sw_tensors sw_tensors;
SW_API const sw_address *sw_tensors_address(const sw_tensors *tensors);
SW_API uint32_t sw_tensors_count(const sw_tensors *tensors);
SW_API const char *sw_tensors_name(const sw_tensors *tensors, uint32_t index);
SW_API const sw_tensor_view *sw_tensors_view(const sw_tensors *tensors,
                                             uint32_t index); /* .data NULL for manifest only */
SW_API const sw_tensor_view *sw_tensors_find(const sw_tensors *tensors, const char *name); /* or NULL */
SW_API int64_t sw_tensors_published_unix_ns(const sw_tensors *tensors);
SW_API void
sw_tensors_destroy(sw_tensors *tensors); /* takes NULL; memory of `into` is the caller's and stays */
/* A tensor's memory for itself: a reference of the caller's, which outlives the set, and which nobody but its
 * holders sees, so that they may write to it. NULL where it is the
 * caller's `into`, or manifest only. */
SW_API sw_buffer *sw_tensors_buffer(const sw_tensors *tensors, uint32_t index);

/* `requests` NULL with count 0: every tensor, allocated. A pull that breaks goes on with the blocks it lacks;
 * one that fails may have written part of `into`. CHECKSUM where the bytes are not what was published. */
SW_API sw_status sw_client_get_tensors(sw_client *client, const sw_pull *pull,
                                       const sw_tensor_request *requests, uint32_t count,
                                       sw_tensors **ret_tensors, sw_error *error);
/* Names, types and shapes, without bytes. */
SW_API sw_status sw_client_get_manifest(sw_client *client, const sw_pull *pull, sw_tensors **ret_tensors,
                                        sw_error *error);

/* ---- objects ---- */

typedef struct sw_exchange {
    sw_address address; /* has_stage: the stage that speaks */
    uint32_t stage_count;
    const sw_value *value; /* NULL: "not mine"; a null is a value */
    bool no_wait;
    int64_t timeout_ms;
} sw_exchange;

typedef struct sw_object sw_object;
SW_API uint32_t sw_object_owner_count(const sw_object *object);
SW_API uint32_t sw_object_owner(const sw_object *object, uint32_t index); /* ascending */
SW_API const sw_value *sw_object_value(const sw_object *object);          /* NULL unless there is one owner */
SW_API void sw_object_destroy(sw_object *object);                         /* takes NULL */

/* A meeting of all stages of a group at the last stage's endpoint. */
SW_API sw_status sw_client_exchange(sw_client *client, const sw_exchange *exchange, sw_object **ret_object,
                                    sw_error *error);

/* ---- release, info ---- */

/* This client's consumer no longer needs any step below `release_below`. */
SW_API sw_status sw_client_release(sw_client *client, const sw_address *address, sw_item_kind kind,
                                   uint64_t release_below, int64_t timeout_ms, sw_error *error);

typedef struct sw_channel_info {
    sw_address oldest, latest; /* always name stage, group and channel */
    bool has_items;
    sw_item_kind kind;
    uint64_t items;
    uint64_t held_bytes;
    const char *const *consumers;
    const uint64_t *released_below; /* one a consumer */
    uint32_t consumer_count;
    bool is_closed;
    sw_close_reason closed_reason;
    const char *closed_message;
} sw_channel_info;

typedef struct sw_lease_info {
    uint32_t stage, group, stage_count;
    bool lost;
} sw_lease_info;

/* How an endpoint speaks over TCP; texts are "" where there is nothing to say. */
typedef struct sw_security_info {
    bool tls;                  /* TLS alone, with certificates on both sides */
    bool insecure_plaintext;   /* plaintext beyond its machine was allowed */
    const char *name, *issuer; /* whose its certificate is, and by whom */
    const char *sha256;        /* its fingerprint */
    int64_t not_after_unix_s;  /* until when it holds */
    int64_t taken_unix_s;      /* since when it is used */
    uint64_t taken, failed;    /* how often certificates were taken, and found not to fit */
    int64_t failed_unix_s;     /* since when the files don't fit; 0: they do */
    const char *error;         /* why they don't */
} sw_security_info;

/* Tensors that come and go as memory instead of as chunks; of all clients, since the endpoint began. */
typedef struct sw_hand_over_info {
    bool is_open;    /* the endpoint passes memory, beside a Unix socket */
    bool is_reached; /* by this client: tensors of 1 MiB and more in memory of sw_buffer_create may go so */
    uint64_t connections;
    uint64_t waiting; /* pieces of memory that no publish has asked for yet */
    uint64_t tensors_in, bytes_in, tensors_out, bytes_out;
} sw_hand_over_info;

typedef struct sw_info {
    const char *run_id;
    uint64_t generation;
    const char *version;
    const char *const *features;
    uint32_t feature_count;
    const sw_lease_info *leases;
    uint32_t lease_count;
    const sw_channel_info *channels;
    uint32_t channel_count;
    uint64_t incarnation;
    uint64_t held_bytes, store_bytes;
    uint64_t metrics_held_bytes, metrics_bytes, pinned_bytes;
    uint64_t open_calls, waiting, watches, streams, open_publishes;
    const char *caller;              /* who the endpoint takes this client for; NULL: it doesn't say */
    const char *const *rights;       /* what this client may do there: "watch", "pull", … */
    const char *const *consumer_ids; /* as whom it may pull; a trailing * matches the rest */
    uint32_t right_count, consumer_id_count;
    const char *const *warnings; /* what is wrong with the endpoint's own files, and goes on as before */
    uint32_t warning_count;
    sw_security_info security;
    sw_hand_over_info hand_over;
} sw_info;

/* All pages, in one. Free with sw_info_destroy (takes NULL). */
SW_API sw_status sw_client_info(sw_client *client, int64_t timeout_ms, sw_info **ret_info, sw_error *error);
SW_API void sw_info_destroy(sw_info *info);

/* ---- the same without blocking ---- */

/* A call under way: start it, wait for its descriptor, finish it. */
typedef struct sw_call sw_call;

SW_API sw_status sw_client_start_metrics(sw_client *client, const sw_pull *pull, sw_call **ret_call,
                                         sw_error *error);
/* `into` memory must stay valid until the call is finished or destroyed. */
SW_API sw_status sw_client_start_tensors(sw_client *client, const sw_pull *pull,
                                         const sw_tensor_request *requests, uint32_t count,
                                         sw_call **ret_call, sw_error *error);

SW_API sw_status sw_client_start_exchange(sw_client *client, const sw_exchange *exchange, sw_call **ret_call,
                                          sw_error *error);

/* Readable once the call is over; owned by the call. For poll, epoll, asyncio. */
SW_API int sw_call_fd(const sw_call *call);
SW_API bool sw_call_done(const sw_call *call);
/* Of a call for tensors: how many of its bytes have arrived, and how many there are, both 0 until that is
 * known. Less may have arrived than before where an endpoint that began anew holds something else. Any
 * thread. */
SW_API void sw_call_progress(const sw_call *call, uint64_t *ret_arrived, uint64_t *ret_total);
/* Ends it soon, with CANCELLED. Any thread; harmless if it is over. */
SW_API void sw_call_cancel(sw_call *call);
/* Waits for the end if need be and hands out the result, once. The wrong kind: INVALID_ARGUMENT. */
SW_API sw_status sw_call_finish_metrics(sw_call *call, sw_metrics **ret_metrics, sw_error *error);
SW_API sw_status sw_call_finish_tensors(sw_call *call, sw_tensors **ret_tensors, sw_error *error);
SW_API sw_status sw_call_finish_object(sw_call *call, sw_object **ret_object, sw_error *error);
/* Cancels it if it is under way, and waits until nothing writes to `into` any more. Takes NULL. */
SW_API void sw_call_destroy(sw_call *call);

/* ---- watching ---- */

typedef struct sw_watch sw_watch;

typedef struct sw_watch_filter {
    const char *channel; /* NULL: every channel; a trailing * matches the rest */
    bool has_stage, has_group;
    uint32_t stage, group;
} sw_watch_filter;

typedef enum sw_watch_start {
    SW_WATCH_NEW = 1,
    SW_WATCH_OLDEST_HELD = 2,
    SW_WATCH_POSITIONS = 3,
} sw_watch_start;

typedef enum sw_watch_event_type {
    SW_EVENT_PUBLISHED = 1,
    SW_EVENT_FAILED,     /* address, message */
    SW_EVENT_GAP,        /* address: where the watch was; next: the next held, if has_next */
    SW_EVENT_CLOSED,     /* address, reason, message; of a trainer that is lost, too */
    SW_EVENT_GENERATION, /* generation */
} sw_watch_event_type;

typedef struct sw_watch_event {
    sw_watch_event_type type;
    sw_address address;
    const sw_value *metrics; /* PUBLISHED */
    int64_t published_unix_ns;
    const char *message;
    bool has_next;
    sw_address next;
    bool has_last; /* CLOSED: the address's step and call are the channel's last */
    sw_close_reason reason;
    uint64_t generation;
} sw_watch_event;

/* Follows metrics until it is closed: across reconnects (it goes on where it was, without repeating, and what
 * was lost meanwhile is a gap), restarts of the endpoint within the grace, and generations. A slow reader is
 * read for slowly. Returns once the watch stands. `positions`: the next item wanted, a channel each, for
 * SW_WATCH_POSITIONS; they name stage and generation, else INVALID_ARGUMENT. */
SW_API sw_status sw_client_watch(sw_client *client, const sw_watch_filter *filters, uint32_t filter_count,
                                 sw_watch_start start, const sw_address *positions, uint32_t position_count,
                                 int64_t timeout_ms, sw_watch **ret_watch, sw_error *error);
/* The next event; it lives until the next call for this watch. DEADLINE_EXCEEDED (reason none) if none came
 * in time; timeout_ms 0: at once. Any other error ends the watch. */
SW_API sw_status sw_watch_next(sw_watch *watch, int64_t timeout_ms, sw_watch_event *ret_event,
                               sw_error *error);
SW_API int sw_watch_fd(const sw_watch *watch); /* readable when sw_watch_next will not block */
SW_API void sw_watch_close(sw_watch *watch);   /* takes NULL */

/* ---- publishing over RPC ---- */

/* Publishes to this client's endpoint, which must serve PublisherService to it (a Unix socket, or loopback
 * where that was allowed). Lives as long as the client. A lease re-attaches by itself when its stream breaks,
 * and ends with ENDPOINT_LOST when that does not work within endpoint_grace_ms. To an endpoint that was
 * started anew it says how far this client had published in the channels of its policies (next_step). While a
 * lease is held, what names no generation is published in the lease's; where the endpoint does not know of
 * the lease yet (NOT_ATTACHED) it is published once it does. */
SW_API sw_publisher *sw_client_publisher(sw_client *client);

#ifdef __cplusplus
}
#endif
#endif
