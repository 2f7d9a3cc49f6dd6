/* The one loop of all clients of the process. gRPC lets whichever thread polls serve every connection of the
 * process, so that a thread a client only hands events from one to the next. Any thread but the loop's own.
 */
#ifndef STAGEWIRE_CLIENT_RPC_SHARED_LOOP_H
#define STAGEWIRE_CLIENT_RPC_SHARED_LOOP_H

#include "proto/transport/loop.h"

/* The first one starts it; errors are those of loop_start. */
sw_status shared_loop_get(struct loop **ret_loop, sw_error *error);
/* Waits until what was posted before has run; the last one ends it. */
void shared_loop_put(struct loop *loop);

#endif
