/* Calls to an endpoint as any gRPC client would make them: bytes in, bytes out, no retries, no checks, no
 * help. What the tables promise is tested through this, so that the library's own client can't hide anything.
 * One thread at a time. */
#ifndef STAGEWIRE_TESTS_RAW_H
#define STAGEWIRE_TESTS_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/buffer.h>
#include <stagewire/status.h>

struct raw;      /* a connection of its own */
struct raw_call; /* a call under way */

struct raw *raw_open(const char *target);

/* The same by TLS, as gRPC does it: the server must have a certificate for "localhost" or 127.0.0.1. */
struct cert;
struct raw_tls {
    const struct cert *cert,
        *key; /* NULL: the client shows none; `key` is whose key goes with it (NULL: cert's) */
    const struct cert *ca;
    struct grpc_ssl_session_cache *sessions; /* to resume from; NULL: none */
};
struct raw *raw_open_tls(const char *target, const struct raw_tls *tls);
/* After raw_headers: whether the connection came of an earlier one's session. */
bool raw_session_reused(const struct raw_call *call);
void raw_close(struct raw *raw);

#define RAW_STAGE(method)     "/stagewire.v1.StageService/" method
#define RAW_PUBLISHER(method) "/stagewire.v1.PublisherService/" method

/* Starts a call (`method` is a literal); sends `request` (takes the reference; NULL: nothing yet) and, with
 * `half_close`, says that there will be no more. */
struct raw_call *raw_start(struct raw *raw, const char *method, sw_buffer *request, bool half_close,
                           int64_t timeout_ms);
/* One more message of a client stream; false if the call is over. */
bool raw_send(struct raw_call *call, sw_buffer *message);
void raw_half_close(struct raw_call *call);

/* The next message, or NULL when there is none any more; release it with sw_buffer_unref. */
sw_buffer *raw_read(struct raw_call *call);
/* The same, waiting at most so long; *ret_waiting tells "none yet" from "none any more". */
sw_buffer *raw_read_within(struct raw_call *call, int64_t timeout_ms, bool *ret_waiting);
/* Waits until the initial metadata has come (false: it ended without). */
bool raw_headers(struct raw_call *call);

void raw_cancel(struct raw_call *call);
/* Waits for the status, drops what was not read, frees the call. */
sw_status raw_finish(struct raw_call *call, sw_error *ret_error);
/* Whether the status is there already (looks for at most so long). */
bool raw_over(struct raw_call *call, int64_t timeout_ms);

/* Start, read one, finish. *ret_response (NULL is fine) is written for SW_OK. */
sw_status raw_unary(struct raw *raw, const char *method, sw_buffer *request, int64_t timeout_ms,
                    sw_buffer **ret_response, sw_error *ret_error);

#endif
