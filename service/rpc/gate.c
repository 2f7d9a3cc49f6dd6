#include "service/rpc/gate.h"

#include <grpc/support/alloc.h>

#include "service/rpc/call.h"
#include "service/rpc/peer_address.h"
#include "service/rpc/server.h"

sw_status gate_enter(struct call *call, sw_error *error) {
    char address[PEER_ADDRESS_MAX];
    char *peer = grpc_call_get_peer(call->grpc);
    peer_address_of(peer, address);
    gpr_free(peer);
    return callers_enter(&call->server->all->callers, address, &call->caller, error);
}

void gate_leave(struct call *call) {
    callers_leave(&call->server->all->callers, call->caller);
    call->caller = NULL;
}
