#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stagewire/pipeline.h>

#include "client/pipeline/scalars.h"
#include "proto/base/error.h"
#include "proto/wire/arena.h"

#define DECIMAL_MAX sizeof "18446744073709551615"

struct sw_materialized {
    struct arena arena;
    sw_value value;
};

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE,
                          "no memory for a copy of the loss metrics");
}

/* A U64 beyond int64, as Python's integers travel. */
static sw_status big_integer(struct arena *arena, uint64_t natural, sw_value *ret_value, sw_error *error) {
    sw_value *decimal = arena_get(arena, sizeof *decimal);
    char *digits = arena_get(arena, DECIMAL_MAX);
    if (!decimal || !digits) return no_memory(error);
    snprintf(digits, DECIMAL_MAX, "%" PRIu64, natural);
    *decimal = sw_text(digits);
    *ret_value = (sw_value){.kind = SW_VALUE_EXTENSION, .extension = {sw_text_of("py.int"), decimal}};
    return SW_OK;
}

static sw_status materialize_value(struct arena *arena, const sw_value *value, sw_value *ret_value,
                                   sw_error *error) {
    *ret_value = *value;
    if (value->kind != SW_VALUE_TENSOR) return SW_OK;
    const sw_tensor_view *view = &value->tensor;
    uint64_t bytes;
    bool whole =
        sw_tensor_bytes(view->dtype, view->rank, view->shape, &bytes) && view->data && view->size == bytes;
    if (!whole || bytes != sw_dtype_size(view->dtype)) return SW_OK;

    struct scalar scalar = scalar_read(view->dtype, view->data, 0);
    switch (scalar.kind) {
    case SCALAR_BOOL:
        *ret_value = sw_boolean(scalar.boolean);
        return SW_OK;
    case SCALAR_INTEGER:
        *ret_value = sw_integer(scalar.integer);
        return SW_OK;
    case SCALAR_NUMBER:
        *ret_value = sw_number(scalar.number);
        return SW_OK;
    case SCALAR_UNSIGNED:
        return big_integer(arena, scalar.natural, ret_value, error);
    default:
        return SW_OK;
    }
}

static sw_status materialize_dict(struct arena *arena, const sw_value *dict, sw_value *ret_dict,
                                  sw_error *error) {
    size_t count = dict->dict.count;
    sw_entry *entries = count > SIZE_MAX / sizeof *entries ? NULL : arena_get(arena, count * sizeof *entries);
    if (!entries) return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        entries[i].key = dict->dict.entries[i].key;
        sw_status status = materialize_value(arena, &dict->dict.entries[i].value, &entries[i].value, error);
        if (status != SW_OK) return status;
    }
    *ret_dict = sw_dict(entries, count);
    return SW_OK;
}

static sw_status materialize_list(struct arena *arena, const sw_value *list, sw_value *ret_list,
                                  sw_error *error) {
    size_t count = list->list.count;
    sw_value *items = count > SIZE_MAX / sizeof *items ? NULL : arena_get(arena, count * sizeof *items);
    if (!items) return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        if (list->list.items[i].kind != SW_VALUE_DICT) {
            sw_status status = error_set(error, SW_REASON_MALFORMED,
                                         "loss metrics: item %zu of the list is no dict; pass a dict, or a "
                                         "list of one dict a microbatch",
                                         i);
            char path[48];
            snprintf(path, sizeof path, "metrics[%zu]", i);
            error_add(error, "path", path);
            return status;
        }
        sw_status status = materialize_dict(arena, &list->list.items[i], &items[i], error);
        if (status != SW_OK) return status;
    }
    *ret_list = sw_list(items, count);
    return SW_OK;
}

static sw_status materialize(struct arena *arena, const sw_value *metrics, sw_value *ret_value,
                             sw_error *error) {
    if (metrics && metrics->kind == SW_VALUE_DICT) return materialize_dict(arena, metrics, ret_value, error);
    if (metrics && metrics->kind == SW_VALUE_LIST) return materialize_list(arena, metrics, ret_value, error);
    sw_status status = error_set(error, SW_REASON_MALFORMED,
                                 "loss metrics are neither a dict nor a list of dicts; pass a dict, or a "
                                 "list of one dict a microbatch");
    error_add(error, "path", "metrics");
    return status;
}

sw_status sw_pipeline_materialize_loss_metrics_for_object_broadcast(const sw_value *metrics,
                                                                    sw_materialized **ret_copy,
                                                                    sw_error *error) {
    sw_materialized *copy = malloc(sizeof *copy);
    if (!copy) return no_memory(error);
    arena_init(&copy->arena, &allocator_system, SIZE_MAX);
    sw_status status = materialize(&copy->arena, metrics, &copy->value, error);
    if (status != SW_OK) {
        sw_materialized_destroy(copy);
        return status;
    }
    *ret_copy = copy;
    return SW_OK;
}

const sw_value *sw_materialized_value(const sw_materialized *copy) {
    return &copy->value;
}

void sw_materialized_destroy(sw_materialized *copy) {
    if (!copy) return;
    arena_destroy(&copy->arena);
    free(copy);
}
