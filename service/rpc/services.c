#include "service/rpc/services.h"

#include <string.h>

#include "service/rpc/call.h"
#include "service/rpc/server.h"

const struct service services[SERVICE_COUNT] = {
    {.name = "stagewire.v1.StageService"},
    {.name = "stagewire.v1.PublisherService"},
    {.name = "grpc.health.v1.Health", .for_probes = true},
    {.name = "grpc.reflection.v1.ServerReflection", .reflects = true},
    {.name = "grpc.reflection.v1alpha.ServerReflection", .reflects = true},
};

/* A path is "/SERVICE/METHOD". */
static bool is_of(const struct method *method, const struct service *service) {
    size_t size = strlen(service->name);
    return strncmp(method->path + 1, service->name, size) == 0 && method->path[1 + size] == '/';
}

const struct service *service_of(const struct method *method) {
    const struct service *service = services;
    while (!is_of(method, service)) service++;
    return service;
}

bool service_is_served(const struct service *service, const struct server *server) {
    if (server->for_probes) return service->for_probes;
    return server->reflects || !service->reflects;
}
