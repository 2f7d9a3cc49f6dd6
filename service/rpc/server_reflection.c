/* ServerReflectionInfo, in both its versions: an answer a question, from the descriptions that were compiled
 * in. */
#include "proto/base/error.h"
#include "proto/base/limits.h"
#include "proto/transport/slices.h"
#include "proto/wire/descriptors.h"
#include "proto/wire/reflection.h"
#include "service/rpc/call.h"
#include "service/rpc/methods.h"
#include "service/rpc/services.h"

struct scratch {
    struct descriptor_files files;
    const char *services[SERVICE_COUNT];
};

static struct reflection_answer error_answer(sw_status code, const char *message) {
    return (struct reflection_answer){.kind = REFLECTION_ERROR, .code = code, .message = message};
}

static struct reflection_answer files_answer(bool found, const struct descriptor_files *files,
                                             const char *otherwise) {
    if (!found) return error_answer(SW_NOT_FOUND, otherwise);
    return (struct reflection_answer){.kind = REFLECTION_FILES, .files = files->files, .count = files->count};
}

static struct reflection_answer services_answer(const struct server *server, struct scratch *scratch) {
    size_t count = 0;
    for (const struct service *service = services; service < services + SERVICE_COUNT; service++) {
        if (service_is_served(service, server)) scratch->services[count++] = service->name;
    }
    return (struct reflection_answer){
        .kind = REFLECTION_NAMES, .services = scratch->services, .count = count};
}

static struct reflection_answer extensions_answer(struct span set, const char *type) {
    if (!descriptors_have_message(set, type)) return error_answer(SW_NOT_FOUND, "no message of that name");
    return (struct reflection_answer){.kind = REFLECTION_EXTENSIONS, .type = type};
}

static struct reflection_answer answer(const struct server *server, const struct reflection_request *request,
                                       struct scratch *scratch) {
    const struct span set = {embedded_descriptors, embedded_descriptors_size};
    switch (request->question) {
    case REFLECTION_FILE_BY_NAME:
        return files_answer(descriptors_of_file(set, request->name, &scratch->files), &scratch->files,
                            "no file of that name");
    case REFLECTION_FILE_OF_SYMBOL:
        return files_answer(descriptors_of_symbol(set, request->name, &scratch->files), &scratch->files,
                            "no symbol of that name");
    case REFLECTION_FILE_OF_EXTENSION:
        return error_answer(SW_NOT_FOUND, "no message here has extensions");
    case REFLECTION_EXTENSIONS_OF_TYPE:
        return extensions_answer(set, request->name);
    case REFLECTION_SERVICES:
        return services_answer(server, scratch);
    case REFLECTION_UNKNOWN:
        break;
    }
    return error_answer(SW_INVALID_ARGUMENT, "the request asks nothing that is known here");
}

static sw_status answer_message(struct call *call, grpc_byte_buffer *message, sw_buffer **ret,
                                sw_error *error) {
    struct reflection_request request;
    struct message_flat flat;
    struct scratch scratch;
    struct arena arena;
    sw_status status = message_flatten(message, &flat, error);
    if (status != SW_OK) return status;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    status = reflection_request_decode(flat.data, flat.size, &arena, &request, error);
    if (status == SW_OK) {
        const struct reflection_answer found = answer(call->server, &request, &scratch);
        status = reflection_answer_encode(&request, &found, ret, error);
    }
    arena_destroy(&arena);
    message_flat_free(&flat);
    return status;
}

/* The client has said all, and has been answered. */
static void finish(struct call *call) {
    call_reply(call, NULL);
}

static void received(struct call *call, grpc_byte_buffer *message) {
    sw_buffer *response;
    sw_error error;
    if (!message) {
        finish(call);
    } else if (answer_message(call, message, &response, &error) != SW_OK) {
        call_fail(call, &error);
    } else {
        call_write(call, message_of_buffer(response));
        sw_buffer_unref(response);
    }
}

static void begin(struct call *call, const void *data, size_t size) {
    (void)data, (void)size;
    call_read(call);
}

const struct method server_reflection = {
    .path = REFLECTION_SERVICE "ServerReflectionInfo",
    .reads = true,
    .reads_when_asked = true,
    .ends_with_drain = true,
    .begin = begin,
    .received = received,
    .sent = call_read,
};

const struct method server_reflection_v1alpha = {
    .path = REFLECTION_V1ALPHA_SERVICE "ServerReflectionInfo",
    .reads = true,
    .reads_when_asked = true,
    .ends_with_drain = true,
    .begin = begin,
    .received = received,
    .sent = call_read,
};
