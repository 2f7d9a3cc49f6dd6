/* What systemd is told of a service of Type=notify, and of one with WatchdogSec. Without systemd nothing
 * happens. */
#ifndef STAGEWIRE_DAEMON_NOTIFY_H
#define STAGEWIRE_DAEMON_NOTIFY_H

#include <stagewire/endpoint.h>

#include "service/rpc/beat.h"

/* Outlives the endpoint. */
struct notify {
    struct beat beat;
};

/* It serves; from now on the endpoint's loop gives signs of life, where a watchdog waits for them. */
void notify_ready(struct notify *notify, sw_endpoint *endpoint);

/* It drains. */
void notify_stopping(void);

#endif
