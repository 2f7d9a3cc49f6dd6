#include "client/cli/readiness.h"

#include "client/rpc/health.h"

sw_status readiness_ask(sw_client *client, int64_t timeout_ms, bool *ret_ready, sw_error *error) {
    enum health_status health;
    sw_status status = client_health(client, "readiness", timeout_ms, &health, error);
    if (status == SW_NOT_FOUND) status = client_health(client, "", timeout_ms, &health, error);
    if (status == SW_OK) *ret_ready = health == HEALTH_SERVING;
    return status;
}
