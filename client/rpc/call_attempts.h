/* What a call does on the loop's thread: its attempts, one after the other, until it is over. */
#ifndef STAGEWIRE_CLIENT_RPC_CALL_ATTEMPTS_H
#define STAGEWIRE_CLIENT_RPC_CALL_ATTEMPTS_H

#include "client/rpc/call.h"

void client_call_begin(struct sw_call *call);
void call_cancel_now(struct sw_call *call); /* harmless if it is over */

/* Tells the caller and lets go of the loop's hold. */
void call_over(struct sw_call *call);

#endif
