/* A sign of life of an endpoint, for whoever ends it when there is none. */
#ifndef STAGEWIRE_SERVICE_BEAT_H
#define STAGEWIRE_SERVICE_BEAT_H

#include <stdint.h>

#include <stagewire/endpoint.h>

#include "proto/transport/loop.h"

struct guard;

struct beat {
    void (*run)(struct beat *beat);
    int64_t interval_ms;

    /* private */
    struct op begin;
    struct loop_timer timer;
    struct loop *loop;
    struct guard *guard;
};

/* Any thread: calls `run` on the loop's thread at once, and whenever the interval has passed: so long as the
 * loop gets around to it, and the store isn't locked for good. Until the endpoint is closed, which `beat`
 * must outlive. */
void beat_start(struct beat *beat, sw_endpoint *endpoint);

#endif
