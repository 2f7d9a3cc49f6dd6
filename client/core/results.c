#include "client/core/results.h"

#include <stdlib.h>

#include "proto/base/limits.h"

sw_metrics *metrics_create(void) {
    sw_metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics) arena_init(&metrics->arena, &allocator_system, LIMIT_DECODE_BYTES);
    return metrics;
}

const sw_address *sw_metrics_address(const sw_metrics *metrics) {
    return &metrics->address;
}

const sw_value *sw_metrics_value(const sw_metrics *metrics) {
    return metrics->value;
}

int64_t sw_metrics_published_unix_ns(const sw_metrics *metrics) {
    return metrics->published_unix_ns;
}

void sw_metrics_destroy(sw_metrics *metrics) {
    if (!metrics) return;
    arena_destroy(&metrics->arena);
    free(metrics);
}

sw_object *object_create(void) {
    sw_object *object = calloc(1, sizeof *object);
    if (object) arena_init(&object->arena, &allocator_system, LIMIT_DECODE_BYTES);
    return object;
}

uint32_t sw_object_owner_count(const sw_object *object) {
    return object->owner_count;
}

uint32_t sw_object_owner(const sw_object *object, uint32_t index) {
    return object->owners[index];
}

const sw_value *sw_object_value(const sw_object *object) {
    return object->value;
}

void sw_object_destroy(sw_object *object) {
    if (!object) return;
    arena_destroy(&object->arena);
    free(object);
}
