/* Asking an endpoint for its health: grpc.health.v1. */
#ifndef STAGEWIRE_CLIENT_RPC_HEALTH_H
#define STAGEWIRE_CLIENT_RPC_HEALTH_H

#include <stagewire/client.h>

#include "proto/wire/health.h"

/* `service` "" asks for the whole endpoint. NOT_FOUND for one that it doesn't have, UNIMPLEMENTED where it
 * knows nothing of health; else what any call may answer. */
sw_status client_health(sw_client *client, const char *service, int64_t timeout_ms,
                        enum health_status *ret_status, sw_error *error);

#endif
