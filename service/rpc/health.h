/* The health of an endpoint, as grpc.health.v1 tells it: whoever it is asked by, and on whichever listener.
 * On the loop's thread, but where it says any. */
#ifndef STAGEWIRE_SERVICE_HEALTH_H
#define STAGEWIRE_SERVICE_HEALTH_H

#include <stdbool.h>

#include "proto/base/list.h"
#include "proto/transport/loop.h"
#include "proto/wire/health.h"

struct server;

/* Those who are told of each change. */
struct health {
    struct list watches;
    size_t watch_count;
    struct wake changed;
};

struct health_watch {
    struct list link;
    void (*changed)(struct health_watch *watch);
};

void health_init(struct health *health);

/* `liveness` serves as long as it is answered. Everything else, that is "" (the whole), `readiness` and each
 * service, serves until the endpoint drains. HEALTH_SERVICE_UNKNOWN for what this server doesn't know. */
enum health_status health_of(const struct server *server, const char *name);

/* The names that health_of knows on this server: the i-th, NULL beyond the last. */
const char *health_name(const struct server *server, size_t index);

/* False where there are LIMIT_HEALTH_WATCHES. */
bool health_watch_start(struct health *health, struct health_watch *watch);
void health_watch_stop(struct health *health, struct health_watch *watch);

/* Any thread: what health_of answers may have changed. */
void health_tell(struct health *health, struct loop *loop);

#endif
