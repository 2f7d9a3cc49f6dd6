#include "service/rpc/health.h"

#include <string.h>

#include "proto/base/limits.h"
#include "service/rpc/guard.h"
#include "service/rpc/server.h"
#include "service/rpc/services.h"

#define LIVENESS "liveness"

static const char *const names[] = {"", LIVENESS, "readiness"};
#define NAME_COUNT (sizeof names / sizeof *names)

/* Probes ask about the endpoint, not about the listener that they come by; reflection alone is a listener's
 * own. */
static bool is_known(const struct service *service, const struct server *server) {
    return !service->reflects || service_is_served(service, server);
}

const char *health_name(const struct server *server, size_t index) {
    if (index < NAME_COUNT) return names[index];
    index -= NAME_COUNT;
    for (const struct service *service = services; service < services + SERVICE_COUNT; service++) {
        if (is_known(service, server) && index-- == 0) return service->name;
    }
    return NULL;
}

static bool is_draining(struct guard *guard) {
    bool draining = store_draining(guard_lock(guard));
    guard_unlock(guard);
    return draining;
}

enum health_status health_of(const struct server *server, const char *name) {
    const char *known;
    for (size_t i = 0; (known = health_name(server, i)); i++) {
        if (strcmp(known, name) != 0) continue;
        bool serving = strcmp(name, LIVENESS) == 0 || !is_draining(server->all->guard);
        return serving ? HEALTH_SERVING : HEALTH_NOT_SERVING;
    }
    return HEALTH_SERVICE_UNKNOWN;
}

static void tell_watches(struct wake *wake) {
    struct health *health = container_of(wake, struct health, changed);
    list_each_safe(link, &health->watches) {
        struct health_watch *watch = container_of(link, struct health_watch, link);
        watch->changed(watch);
    }
}

void health_init(struct health *health) {
    *health = (struct health){.changed.run = tell_watches};
    list_init(&health->watches);
}

bool health_watch_start(struct health *health, struct health_watch *watch) {
    if (health->watch_count == LIMIT_HEALTH_WATCHES) return false;
    list_append(&health->watches, &watch->link);
    health->watch_count++;
    return true;
}

void health_watch_stop(struct health *health, struct health_watch *watch) {
    list_remove(&watch->link);
    health->watch_count--;
}

void health_tell(struct health *health, struct loop *loop) {
    loop_wake(loop, &health->changed);
}
