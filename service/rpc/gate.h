/* What every call passes before its method sees it, and leaves when it is over. On the loop's thread. */
#ifndef STAGEWIRE_SERVICE_GATE_H
#define STAGEWIRE_SERVICE_GATE_H

#include <stagewire/status.h>

struct call;

/* RESOURCE_EXHAUSTED / LIMIT "calls" where its caller has too many. gate_leave in any case. */
sw_status gate_enter(struct call *call, sw_error *error);
void gate_leave(struct call *call);

#endif
