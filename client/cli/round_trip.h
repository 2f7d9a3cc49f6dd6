/* How long an endpoint takes to answer the smallest call there is: its health. */
#ifndef STAGEWIRE_CLIENT_CLI_ROUND_TRIP_H
#define STAGEWIRE_CLIENT_CLI_ROUND_TRIP_H

#include <stagewire/client.h>

/* An endpoint that knows nothing of health has answered as well. Else what any call may answer. */
sw_status round_trip(sw_client *client, int64_t timeout_ms, int64_t *ret_ns, sw_error *error);

#endif
