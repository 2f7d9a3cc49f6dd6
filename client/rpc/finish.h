/* The common part of the sw_client_start_… and sw_call_finish_… functions. */
#ifndef STAGEWIRE_CLIENT_RPC_FINISH_H
#define STAGEWIRE_CLIENT_RPC_FINISH_H

#include "client/rpc/call.h"

/* Starts a call with a descriptor and hands it out; destroys it if it can't be started. */
sw_status finish_start(sw_call *call, sw_call **ret_call, sw_error *error);

/* Waits; SW_OK says that the result may be taken, which it is said once. INVALID_ARGUMENT for a call of
 * another kind than `ops` are for; `what` is what it was asked for. */
sw_status finish_call(sw_call *call, const struct call_ops *ops, const char *what, sw_error *error);

#endif
