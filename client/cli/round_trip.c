#include "client/cli/round_trip.h"

#include "client/cli/stopwatch.h"
#include "client/rpc/health.h"

sw_status round_trip(sw_client *client, int64_t timeout_ms, int64_t *ret_ns, sw_error *error) {
    enum health_status health;
    int64_t begun = stopwatch_ns();
    sw_status status = client_health(client, "", timeout_ms, &health, error);
    int64_t took = stopwatch_ns() - begun;
    if (status == SW_UNIMPLEMENTED) status = SW_OK;
    if (status == SW_OK) *ret_ns = took;
    return status;
}
