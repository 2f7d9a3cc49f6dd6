/* Which services there are, and where. */
#include <string.h>

#include "service/rpc/call.h"
#include "service/rpc/server.h"
#include "service/rpc/services.h"
#include "tests/support/test.h"

static bool has_method(const struct service *service) {
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (service_of(methods[i]) == service) return true;
    }
    return false;
}

Test(services, every_method_belongs_to_one_and_every_one_has_methods) {
    for (size_t i = 0; i < SERVICE_COUNT; i++) cr_assert(has_method(&services[i]), "%s", services[i].name);
}

static size_t count_served(const struct server *server) {
    size_t count = 0;
    for (size_t i = 0; i < SERVICE_COUNT; i++) count += service_is_served(&services[i], server);
    return count;
}

Test(services, probes_get_health_alone_whatever_else_is_set) {
    const struct server probed = {.for_probes = true, .reflects = true};
    cr_assert_eq(count_served(&probed), 1);
    cr_assert(service_is_served(service_of(&health_check), &probed));
}

Test(services, reflection_is_where_it_was_asked_for) {
    cr_assert_eq(count_served(&(struct server){.reflects = true}), SERVICE_COUNT);
    cr_assert_eq(count_served(&(struct server){.reflects = false}), SERVICE_COUNT - 2);
    cr_assert(!service_is_served(service_of(&server_reflection), &(struct server){.reflects = false}));
}
