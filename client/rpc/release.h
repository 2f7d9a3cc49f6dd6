/* Releases that go out by themselves. */
#ifndef STAGEWIRE_CLIENT_RPC_RELEASE_H
#define STAGEWIRE_CLIENT_RPC_RELEASE_H

#include "client/rpc/client_struct.h"

/* On the loop's thread; nobody waits for it, and what it can't say is said again later. */
void release_alone(sw_client *client, const sw_address *address, sw_item_kind kind, uint64_t below);

#endif
