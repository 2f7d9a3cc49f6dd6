/* List: how each service is. */
#include "service/rpc/call.h"
#include "service/rpc/health.h"
#include "service/rpc/methods.h"

#define ENTRIES_MAX 16

static void begin(struct call *call, const void *data, size_t size) {
    struct health_entry entries[ENTRIES_MAX];
    size_t count = 0;
    sw_buffer *response = NULL;
    sw_error error;
    sw_status status = health_list_request_decode(data, size, &error);
    if (status == SW_OK) {
        const char *name;
        while (count < ENTRIES_MAX && (name = health_name(call->server, count))) {
            entries[count++] = (struct health_entry){name, health_of(call->server, name)};
        }
        status = health_list_encode(entries, count, &response, &error);
    }
    call_reply_encoded(call, status, response, &error);
}

const struct method health_list = {.path = HEALTH_SERVICE "List", .begin = begin};
