/* What faults happen to: the endpoint's process, the relays before it, and the process of one stage. */
#ifndef STAGEWIRE_TESTS_FAULT_HOST_H
#define STAGEWIRE_TESTS_FAULT_HOST_H

#include <sys/types.h>

#include "tests/fault/part.h"
#include "tests/fault/schedule.h"
#include "tests/support/daemon.h"

struct host {
    struct relay *relays[RELAYS];
    struct daemon *daemon;
    char folder[64], socket[96]; /* "unix:…": where the trainer publishes; the same after a restart */
    bool is_stopped, drains;
};

void host_open(struct host *host);
void host_close(struct host *host);

/* The endpoint again, at the same socket and another port, knowing nothing. */
void host_restart(struct host *host);

/* How many descriptors and threads a process has; pid 0: this one. */
unsigned host_descriptors(pid_t pid);
unsigned host_threads(pid_t pid);

#endif
