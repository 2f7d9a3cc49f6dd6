#include <inttypes.h>
#include <stdio.h>

#include "client/core/results.h"
#include "client/pipeline/internal.h"
#include "proto/base/error.h"

#define OWNERS_MAX 512 /* bytes of their list that a message shows */

static sw_status no_memory(sw_error *error) {
    return error_set_code(error, SW_RESOURCE_EXHAUSTED, SW_REASON_NONE, "no memory for an object");
}

/* Alone, the object is whatever was passed, even nothing. */
static sw_status keep_own(const sw_value *value, sw_object **ret_object, sw_error *error) {
    sw_object *object = object_create();
    if (!object) return no_memory(error);
    uint32_t *owner = arena_get(&object->arena, sizeof *owner);
    if (!owner) {
        sw_object_destroy(object);
        return no_memory(error);
    }
    *owner = 0;
    object->owners = owner;
    object->owner_count = value != NULL;
    object->value = value;
    *ret_object = object;
    return SW_OK;
}

static sw_status several_owners(const sw_object *object, sw_error *error) {
    char list[OWNERS_MAX];
    size_t used = 0;
    for (uint32_t i = 0; i < object->owner_count && used < sizeof list - 16; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu32, i ? ", " : "", object->owners[i]);
    if (used >= sizeof list - 16) snprintf(list + used, sizeof list - used, ", …");
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "Object present on multiple PP ranks: [%s]", list);
}

static sw_status check_owner(const sw_object *object, sw_error *error) {
    if (object->owner_count == 1) return SW_OK;
    if (object->owner_count > 1) return several_owners(object, error);
    return error_set_code(error, SW_INVALID_ARGUMENT, SW_REASON_NONE,
                          "Object must exist on at least one PP rank");
}

sw_status sw_pipeline_broadcast_obj_from_pp_rank(sw_pipeline *pipeline, const sw_value *value,
                                                 sw_object **ret_object, sw_error *error) {
    struct pipeline_place place;
    sw_status status = pipeline_place_next(pipeline, SW_OBJECT, &place, error);
    if (status != SW_OK) return status;
    if (pipeline_is_single(pipeline)) return keep_own(value, ret_object, error);

    sw_exchange exchange = {.address = place.address,
                            .stage_count = pipeline->stage_count,
                            .value = value,
                            .timeout_ms = pipeline_time_left_ms(&place)};
    sw_object *object;
    status = sw_client_exchange(pipeline->client, &exchange, &object, error);
    if (status != SW_OK) return status;
    status = check_owner(object, error);
    if (status != SW_OK) {
        sw_object_destroy(object);
        return status;
    }
    if (value) object->value = value;
    *ret_object = object;
    return SW_OK;
}
