/* An endpoint inside your own process: it holds what its stage publishes, and serves it to everyone who
 * pulls.
 *
 * `stagewired` is this and a main function. Threads: an endpoint runs one loop thread of its own; all
 * functions may be called from any thread. After fork() the child must not use it: every call then answers
 * FAILED_PRECONDITION. */
#ifndef STAGEWIRE_ENDPOINT_H
#define STAGEWIRE_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stagewire/export.h>
#include <stagewire/publisher.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sw_endpoint sw_endpoint;

/* Set with sw_endpoint_options_init first: it fills the defaults of contract and command line. */
typedef struct sw_endpoint_options {
    size_t size;               /* set by sw_endpoint_options_init */
    const char *const *listen; /* "HOST:PORT" (port 0: any) or "unix:PATH" */
    uint32_t listen_count;
    bool publish_on_loopback;   /* PublisherService also on loopback TCP, not only on Unix sockets */
    bool insecure_plaintext;    /* allow plaintext beyond this machine; not with certificates */
    bool reflection;            /* server reflection also beyond this machine */
    const char *health_listen;  /* "HOST:PORT": health alone, in plaintext, for probes; NULL or "": none */
    const char *run_id;         /* required */
    uint64_t generation;        /* 0: begun by the first Attach or publish */
    uint32_t stage;             /* the endpoint's own */
    uint32_t stage_count;       /* 0: not said */
    uint64_t store_bytes;       /* budget of tensors, bytes (2 GiB) */
    uint64_t metrics_bytes;     /* budget of metrics and objects, bytes (256 MiB) */
    uint64_t pinned_bytes;      /* 0: as store_bytes */
    uint32_t keep_steps;        /* 1024 */
    uint32_t keep_tensor_steps; /* 1 */
    uint32_t max_lag_steps;     /* 0: no limit */
    int64_t publisher_grace_ms; /* 30,000 */
    int64_t drain_grace_ms;     /* 20,000 */
    int64_t max_wait_ms;        /* 600,000 */
    int64_t pin_ms;             /* 30,000 */

    /* What is beyond one of these is answered RESOURCE_EXHAUSTED / LIMIT with its name (without "max_"). */
    uint32_t max_waiters;   /* pulls and words of an exchange that wait (16,384) */
    uint32_t max_watches;   /* 256 */
    uint32_t max_channels;  /* of a generation (65,536) */
    uint32_t max_consumers; /* expected of a channel (1,024) */
    uint32_t max_leases;    /* open Attach streams (4,096) */
    uint32_t max_publishes; /* tensor publishes in progress (1,024) */
    uint32_t max_calls;     /* of one identity, or of one address where there is none (2,048) */

    /* Below a call: what is beyond them is reset or closed by the transport. */
    uint32_t max_streams;            /* of a connection (4,096) */
    uint64_t header_bytes;           /* of a call (8 KiB) */
    uint64_t transport_bytes;        /* that gRPC holds for all connections (1 GiB) */
    int64_t handshake_timeout_ms;    /* 10,000 */
    int64_t max_connection_age_ms;   /* 3,600,000; clients reconnect and go on */
    int64_t connection_age_grace_ms; /* that calls have then (30,000) */
    int64_t max_connection_idle_ms;  /* without a call (300,000) */

    /* Certificates, PEM files: with them every TCP listener speaks TLS alone and asks clients for theirs;
     * Unix sockets stay plaintext, and health_listen. They are looked at once a second, and what they hold is
     * taken for new connections once all of it fits together. NULL or "": none. tls_cert alone is one bundle
     * of key, chain and CAs. */
    const char *tls_key;  /* the private key, without a password */
    const char *tls_cert; /* the certificate, and those between it and its CA */
    const char *tls_ca;   /* the CAs that clients are checked against */
    const char *tls_crl;  /* revocation lists: a file, or a folder of files; optional */

    /* Who may do what: a file that is looked at once a second. Without it whoever has a certificate of one of
     * the CAs may watch, pull and contribute, and publish nothing; see --help of stagewired. NULL or "":
     * none. */
    const char *access;
} sw_endpoint_options;

/* Fills in the defaults, and the size that the program knows: options are added at the end only, so that a
 * program runs with a newer library without being built anew. */
SW_API void sw_endpoint_options_init_sized(sw_endpoint_options *options, size_t size);
static inline void sw_endpoint_options_init(sw_endpoint_options *options) {
    sw_endpoint_options_init_sized(options, sizeof *options);
}

/* Binds and serves. INVALID_ARGUMENT names the option or file that is wrong; UNAVAILABLE the address that
 * cannot be bound. */
SW_API sw_status sw_endpoint_open(const sw_endpoint_options *options, sw_endpoint **ret_endpoint,
                                  sw_error *error);

/* Publishes straight into the endpoint's memory. Lives as long as the endpoint. */
SW_API sw_publisher *sw_endpoint_publisher(sw_endpoint *endpoint);

/* The i-th listener as a client may name it: "127.0.0.1:40123" or "unix:/run/x.sock"; after those of
 * `listen` the one of `health_listen`; NULL beyond the last. */
SW_API const char *sw_endpoint_address(const sw_endpoint *endpoint, uint32_t index);

/* Refuses publishes, leases and waits from now on; what is held is still served. Returns at once;
 * async-signal-UNSAFE. */
SW_API void sw_endpoint_drain(sw_endpoint *endpoint);

/* Waits until it is drained (no expected consumer needs a held step, or the drain grace is over), at most
 * `timeout_ms`. DEADLINE_EXCEEDED otherwise. */
SW_API sw_status sw_endpoint_wait_drained(sw_endpoint *endpoint, int64_t timeout_ms, sw_error *error);

/* Drains for at most `linger_ms` (0: not at all), then ends every call with SHUTTING_DOWN and frees. Takes
 * NULL. */
SW_API void sw_endpoint_close(sw_endpoint *endpoint, int64_t linger_ms);

#ifdef __cplusplus
}
#endif
#endif
