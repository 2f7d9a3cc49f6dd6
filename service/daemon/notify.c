#include "service/daemon/notify.h"

#include <stdio.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "proto/base/log.h"

/* A beat may come late by as much again, and once more, before the watchdog bites. */
#define BEATS_A_WATCH 3

#define STATUS_MAX 1024

static void tell(const char *state) {
    int told = sd_notify(0, state);
    if (told < 0) log_warn("cannot tell systemd", LOG_TEXT("state", state), LOG_TEXT("why", strerror(-told)));
}

static void tell_alive(struct beat *beat) {
    (void)beat;
    tell("WATCHDOG=1");
}

static void start_watchdog(struct notify *notify, sw_endpoint *endpoint) {
    uint64_t watch_us;
    int enabled = sd_watchdog_enabled(0, &watch_us);
    if (enabled < 0) log_warn("no signs of life", LOG_TEXT("WATCHDOG_USEC", strerror(-enabled)));
    if (enabled <= 0) return;
    int64_t interval_ms = (int64_t)(watch_us / 1000 / BEATS_A_WATCH);
    notify->beat = (struct beat){.run = tell_alive, .interval_ms = interval_ms > 0 ? interval_ms : 1};
    beat_start(&notify->beat, endpoint);
}

void notify_ready(struct notify *notify, sw_endpoint *endpoint) {
    char state[STATUS_MAX] = "READY=1\nSTATUS=serving on";
    const char *address;
    for (uint32_t i = 0; (address = sw_endpoint_address(endpoint, i)); i++) {
        size_t used = strlen(state);
        snprintf(state + used, sizeof state - used, "%s %s", i > 0 ? "," : "", address);
    }
    start_watchdog(notify, endpoint);
    tell(state);
}

void notify_stopping(void) {
    tell("STOPPING=1\nSTATUS=draining: what is held is still served");
}
