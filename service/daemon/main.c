/* stagewired: an endpoint as a process of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/tls_identity.h"
#include "service/daemon/accept.h"
#include "service/daemon/config.h"
#include "service/daemon/notify.h"
#include "service/daemon/port_file.h"
#include "service/daemon/resources.h"
#include "service/daemon/signals.h"

#define EXIT_CANNOT_SERVE 1
#define EXIT_TOLD_WRONG   2

static int fail(const sw_error *error) {
    fprintf(stderr, "stagewired: %s\n", error->message);
    return error->code == SW_INVALID_ARGUMENT ? EXIT_TOLD_WRONG : EXIT_CANNOT_SERVE;
}

/* Nobody need wait for observers, but what is held does not vanish under their hands either: whoever is told
 * of the drain has this long to pull it. */
#define DRAIN_AT_LEAST_MS 500

static void drain(sw_endpoint *endpoint, const struct config *config) {
    int64_t least = config->endpoint.drain_grace_ms < DRAIN_AT_LEAST_MS ? config->endpoint.drain_grace_ms
                                                                        : DRAIN_AT_LEAST_MS;
    int64_t until = signals_await_drain() + least;
    notify_stopping();
    const struct timespec end = {until / 1000, until % 1000 * 1000000};
    sw_endpoint_wait_drained(endpoint, CLOCK_NEVER, NULL);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
}

static int drain_and_close(sw_endpoint *endpoint, const struct config *config) {
    drain(endpoint, config);
    signals_drain(NULL);
    if (*config->port_file) port_file_remove(config->port_file);
    sw_endpoint_close(endpoint, 0);
    log_info("ended");
    return EXIT_SUCCESS;
}

static int serve(const struct config *config) {
    struct notify notify;
    const struct connections_limits limits = {config->max_connections, config->max_connections_address};
    sw_endpoint *endpoint;
    sw_error error;
    if (*config->port_file) port_file_remove(config->port_file);
    if (accept_begin(limits, &error) != SW_OK) return fail(&error);
    if (sw_endpoint_open(&config->endpoint, &endpoint, &error) != SW_OK) return fail(&error);
    if (*config->port_file && port_file_write(config->port_file, endpoint, &error) != SW_OK) {
        sw_endpoint_close(endpoint, 0);
        return fail(&error);
    }
    signals_drain(endpoint);
    notify_ready(&notify, endpoint);
    return drain_and_close(endpoint, config);
}

static int run(const struct config *config) {
    if (config->help) {
        config_help(stdout);
    } else if (config->version) {
        puts("stagewired " STAGEWIRE_VERSION);
    } else if (config->print_config) {
        config_print(config, stdout);
    } else {
        return serve(config);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    struct config config;
    sw_error error;
    resources_prepare();
    tls_keep_openssl();
    grpc_compat_tls13_only();
    if (signals_start(&error) != SW_OK) return fail(&error);
    sw_status status = config_load(&config, argc, argv, environ, &error);
    log_set_format(config.log_format);
    log_set_level(config.log_level);
    int code = status == SW_OK ? run(&config) : fail(&error);
    config_free(&config);
    return code;
}
