/* Whether an endpoint says that it is ready: its health of that name, or its health as a whole where it has
 * none of that name. UNIMPLEMENTED where it knows nothing of grpc.health.v1; else what any call may answer.
 */
#ifndef STAGEWIRE_CLI_READINESS_H
#define STAGEWIRE_CLI_READINESS_H

#include <stagewire/client.h>

sw_status readiness_ask(sw_client *client, int64_t timeout_ms, bool *ret_ready, sw_error *error);

#endif
