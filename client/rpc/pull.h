/* What the pulls of metrics and of tensors share: the request's first half, and what goes with it. */
#ifndef STAGEWIRE_CLIENT_RPC_PULL_H
#define STAGEWIRE_CLIENT_RPC_PULL_H

#include "client/rpc/call.h"

struct pull {
    bool latest, no_wait, keep;
    struct released_ticket ticket; /* linked only where there is a consumer */
    uint64_t release_below;        /* said with every attempt */
};

/* Before the call is started. */
void pull_init(struct pull *pull, const sw_pull *asked);

/* On the loop's thread: of the call's begin and done. What is to be released and can't be said with the pull
 * is sent at once, by itself. `arrived` is the address of what arrived whole, or NULL. */
void pull_begin(struct pull *pull, struct sw_call *call);
void pull_done(struct pull *pull, struct sw_call *call, const sw_error *error, const sw_address *arrived);

/* The first half of a request. */
struct pull_request pull_request_of(const struct pull *pull, const struct sw_call *call, int64_t left_ms);

#endif
