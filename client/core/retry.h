/* Whether a call that failed is tried again, and when. Pure: what it decides depends on its input alone.
 *
 * Tried again until the deadline: UNAVAILABLE without a reason of stagewire's (nobody answered) or with
 * SHUTTING_DOWN; for publishes also STORE_FULL and PUBLISH_IN_PROGRESS, and NOT_ATTACHED where the lease will
 * stand again, as after a restart of the endpoint; and for what has begun to come LIMIT. An endpoint that was
 * reached once and is gone for the grace is lost, whatever time is left. */
#ifndef STAGEWIRE_CLIENT_CORE_RETRY_H
#define STAGEWIRE_CLIENT_CORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <stagewire/status.h>

struct retry_case {
    sw_status status;
    sw_reason reason;
    bool publishes;
    bool has_begun;              /* to come: between its streams others may take its place */
    bool is_attached;            /* a lease of that generation is held, or being taken up again */
    int64_t now_ms, deadline_ms; /* CLOCK_NEVER: no deadline */
    bool reached_once;           /* the endpoint has answered this client before */
    int64_t gone_since_ms;       /* since when nobody answers; CLOCK_NEVER: somebody does */
    int64_t endpoint_grace_ms;
    uint32_t attempt; /* tries since the last progress, from 0 */
    uint32_t random;  /* any number: spreads those who were thrown out together */
};

enum retry_verdict {
    RETRY_AGAIN,   /* after the delay */
    RETRY_GIVE_UP, /* the error stands as it is */
    RETRY_LOST,    /* ENDPOINT_LOST */
};

/* *ret_delay_ms is written for RETRY_AGAIN. It reaches neither beyond the deadline nor beyond the grace, so
 * that either is noticed when it comes. */
enum retry_verdict retry_decide(const struct retry_case *failed, int64_t *ret_delay_ms);

/* Nobody answered, as far as one can tell from here. */
bool retry_nobody_answered(sw_status status, sw_reason reason);

#endif
