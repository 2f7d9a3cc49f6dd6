/* SIGTERM and SIGINT: the first drains, at any moment, also while the endpoint is being opened; the second
 * ends the process at once. */
#ifndef STAGEWIRE_DAEMON_SIGNALS_H
#define STAGEWIRE_DAEMON_SIGNALS_H

#include <stagewire/endpoint.h>

/* Before any other thread is started: they are for the thread that waits for them. */
sw_status signals_start(sw_error *error);

/* The endpoint that is to be drained, from now on; NULL: none any more. */
void signals_drain(sw_endpoint *endpoint);

/* Waits for the first signal; returns when it came, on the monotonic clock, in milliseconds. */
int64_t signals_await_drain(void);

#endif
