#include "service/rpc/callers.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/list.h"

void callers_init(struct callers *callers, uint32_t max_calls) {
    table_init(&callers->by_name, &allocator_system);
    callers->max_calls = max_calls;
}

void callers_destroy(struct callers *callers) {
    table_destroy(&callers->by_name);
}

static struct caller *find(const struct callers *callers, const char *name, uint64_t hash) {
    for (struct table_node *node = table_find(&callers->by_name, hash); node; node = table_same(node)) {
        struct caller *caller = container_of(node, struct caller, node);
        if (strcmp(caller->name, name) == 0) return caller;
    }
    return NULL;
}

static struct caller *add(struct callers *callers, const char *name, uint64_t hash) {
    size_t size = strlen(name) + 1;
    struct caller *caller = malloc(sizeof *caller + size);
    if (!caller) return NULL;
    caller->calls = 0;
    memcpy(caller->name, name, size);
    table_add(&callers->by_name, &caller->node, hash);
    return caller;
}

static sw_status too_many(const struct caller *caller, sw_error *error) {
    error_set(error, SW_REASON_LIMIT,
              "%s has %u calls open, which is as many as one caller may have here; wait for some to end, or "
              "raise --max-calls",
              caller->name, caller->calls);
    error_add(error, "limit", "calls");
    return sw_reason_status(SW_REASON_LIMIT);
}

sw_status callers_enter(struct callers *callers, const char *name, struct caller **ret, sw_error *error) {
    uint64_t hash = hash_text(0, name);
    struct caller *caller = find(callers, name, hash);
    if (!caller) caller = add(callers, name, hash);
    if (!caller) return error_no_memory(error);
    if (caller->calls == callers->max_calls) return too_many(caller, error);
    caller->calls++;
    *ret = caller;
    return SW_OK;
}

void callers_leave(struct callers *callers, struct caller *caller) {
    if (!caller || --caller->calls > 0) return;
    table_remove(&callers->by_name, &caller->node);
    free(caller);
}
