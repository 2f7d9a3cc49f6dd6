#include "service/daemon/connections.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/list.h"
#include "service/store/table.h"

/* Where connections come from; lives as long as it has one. */
struct origin {
    struct table_node node;
    uint64_t network[2];
    uint32_t connections;
    bool is_local;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct connections_limits limits;
static struct table origins;
static uint32_t all;

/* By descriptor; what is no connection is found without the lock. */
struct connection {
    struct origin *_Atomic origin;
    _Atomic uint32_t turn; /* bytes read in it */
};
static struct connection *connections;
static uint32_t descriptor_count;

bool connections_begin(struct connections_limits wanted, uint32_t descriptors) {
    connections = calloc(descriptors, sizeof *connections);
    if (!connections) return false;
    descriptor_count = descriptors;
    limits = wanted;
    table_init(&origins, &allocator_system);
    return true;
}

void connections_end(void) {
    for (uint32_t i = 0; i < descriptor_count; i++) connections_leave((int)i);
    table_destroy(&origins);
    free(connections);
    connections = NULL;
    descriptor_count = 0;
}

/* ---- where from ---- */

static bool is_mapped(const struct in6_addr *address) {
    return IN6_IS_ADDR_V4MAPPED(address);
}

static struct origin name_of(const struct sockaddr_storage *peer) {
    struct origin ret = {.is_local = peer->ss_family == AF_UNIX};
    if (peer->ss_family == AF_INET) {
        ret.network[1] = ((const struct sockaddr_in *)peer)->sin_addr.s_addr;
    } else if (peer->ss_family == AF_INET6) {
        const struct in6_addr *address = &((const struct sockaddr_in6 *)peer)->sin6_addr;
        if (is_mapped(address)) {
            ret.network[1] = address->s6_addr32[3];
        } else {
            memcpy(&ret.network[0], address->s6_addr, sizeof ret.network[0]);
        }
    }
    return ret;
}

static uint64_t hash_of(const struct origin *name) {
    return hash_number(hash_number(name->is_local, name->network[0]), name->network[1]);
}

static bool same(const struct origin *a, const struct origin *b) {
    return a->is_local == b->is_local && memcmp(a->network, b->network, sizeof a->network) == 0;
}

static struct origin *find(const struct origin *name, uint64_t hash) {
    for (struct table_node *node = table_find(&origins, hash); node; node = table_same(node)) {
        struct origin *origin = container_of(node, struct origin, node);
        if (same(origin, name)) return origin;
    }
    return NULL;
}

static struct origin *find_or_add(const struct origin *name) {
    uint64_t hash = hash_of(name);
    struct origin *origin = find(name, hash);
    if (origin) return origin;
    origin = malloc(sizeof *origin);
    if (!origin) return NULL;
    *origin = *name;
    table_add(&origins, &origin->node, hash);
    return origin;
}

static void drop_if_empty(struct origin *origin) {
    if (origin->connections > 0) return;
    table_remove(&origins, &origin->node);
    free(origin);
}

/* ---- counting ---- */

static bool has_room(const struct origin *origin) {
    if (origin->is_local) return all < limits.all + CONNECTIONS_LOCAL;
    return all < limits.all && origin->connections < limits.of_address;
}

static bool admit(int descriptor, const struct origin *name) {
    struct origin *origin = find_or_add(name);
    if (!origin) return false;
    bool admitted = has_room(origin);
    if (admitted) {
        origin->connections++;
        all++;
        connections[descriptor].turn = 0;
        atomic_store(&connections[descriptor].origin, origin);
    }
    drop_if_empty(origin);
    return admitted;
}

bool connections_admit(int descriptor, const struct sockaddr_storage *peer) {
    if (descriptor < 0 || (uint32_t)descriptor >= descriptor_count) return true;
    const struct origin name = name_of(peer);
    pthread_mutex_lock(&mutex);
    bool admitted = admit(descriptor, &name);
    pthread_mutex_unlock(&mutex);
    return admitted;
}

void connections_leave(int descriptor) {
    if (descriptor < 0 || (uint32_t)descriptor >= descriptor_count) return;
    if (!atomic_load(&connections[descriptor].origin)) return;
    pthread_mutex_lock(&mutex);
    struct origin *origin = atomic_exchange(&connections[descriptor].origin, NULL);
    if (origin) {
        origin->connections--;
        all--;
        drop_if_empty(origin);
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- turns ---- */

static struct connection *remote(int descriptor) {
    if (descriptor < 0 || (uint32_t)descriptor >= descriptor_count) return NULL;
    struct connection *connection = &connections[descriptor];
    const struct origin *origin = atomic_load(&connection->origin);
    return origin && !origin->is_local ? connection : NULL;
}

size_t connections_may_read(int descriptor) {
    const struct connection *connection = remote(descriptor);
    return connection ? CONNECTIONS_TURN_BYTES - connection->turn : SIZE_MAX;
}

bool connections_have_read(int descriptor, size_t bytes) {
    struct connection *connection = remote(descriptor);
    if (!connection) return false;
    connection->turn += (uint32_t)bytes;
    if (connection->turn < CONNECTIONS_TURN_BYTES) return false;
    connection->turn = 0;
    return true;
}

uint32_t connections_count(void) {
    pthread_mutex_lock(&mutex);
    uint32_t count = all;
    pthread_mutex_unlock(&mutex);
    return count;
}
