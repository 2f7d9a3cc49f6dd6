/* The services that are served, by their full names, and on which listeners. */
#ifndef STAGEWIRE_SERVICE_SERVICES_H
#define STAGEWIRE_SERVICE_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

struct method;
struct server;

struct service {
    const char *name;
    bool for_probes; /* also on a listener of class LISTENER_HEALTH, which serves nothing else */
    bool reflects;   /* only where server->reflects */
};

#define SERVICE_COUNT 5
extern const struct service services[SERVICE_COUNT];

const struct service *service_of(const struct method *method);
bool service_is_served(const struct service *service, const struct server *server);

#endif
