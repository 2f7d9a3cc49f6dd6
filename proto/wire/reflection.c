#include "proto/wire/reflection.h"

#include <grpc/reflection/v1/reflection.pb-c.h>

#include "proto/wire/pb.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;

#define ASKED(what)    GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##what
#define ANSWERED(what) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##what

/* ---- the request ---- */

static void read_question(const Request *from, struct reflection_request *to) {
    switch (from->message_request_case) {
    case ASKED(FILE_BY_FILENAME):
        to->question = REFLECTION_FILE_BY_NAME;
        to->name = from->file_by_filename;
        break;
    case ASKED(FILE_CONTAINING_SYMBOL):
        to->question = REFLECTION_FILE_OF_SYMBOL;
        to->name = from->file_containing_symbol;
        break;
    case ASKED(FILE_CONTAINING_EXTENSION):
        to->question = REFLECTION_FILE_OF_EXTENSION;
        to->name = from->file_containing_extension->containing_type;
        to->number = from->file_containing_extension->extension_number;
        break;
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        to->question = REFLECTION_EXTENSIONS_OF_TYPE;
        to->name = from->all_extension_numbers_of_type;
        break;
    case ASKED(LIST_SERVICES):
        to->question = REFLECTION_SERVICES;
        to->name = from->list_services;
        break;
    default:
        to->question = REFLECTION_UNKNOWN;
    }
}

sw_status reflection_request_decode(const void *data, size_t size, struct arena *arena,
                                    struct reflection_request *ret, sw_error *error) {
    ProtobufCMessage *unpacked;
    sw_status status = pb_unpack(&grpc__reflection__v1__server_reflection_request__descriptor,
                                 span_of(data, size), arena, &unpacked, error);
    if (status != SW_OK) return status;
    const Request *message = (void *)unpacked;
    *ret = (struct reflection_request){.host = message->host, .name = ""};
    read_question(message, ret);
    return SW_OK;
}

static void write_question(Request *to, Grpc__Reflection__V1__ExtensionRequest *extension,
                           const struct reflection_request *from) {
    grpc__reflection__v1__server_reflection_request__init(to);
    to->host = pb_text(from->host);
    switch (from->question) {
    case REFLECTION_UNKNOWN:
        break;
    case REFLECTION_FILE_BY_NAME:
        to->message_request_case = ASKED(FILE_BY_FILENAME);
        to->file_by_filename = pb_text(from->name);
        break;
    case REFLECTION_FILE_OF_SYMBOL:
        to->message_request_case = ASKED(FILE_CONTAINING_SYMBOL);
        to->file_containing_symbol = pb_text(from->name);
        break;
    case REFLECTION_FILE_OF_EXTENSION:
        grpc__reflection__v1__extension_request__init(extension);
        extension->containing_type = pb_text(from->name);
        extension->extension_number = from->number;
        to->message_request_case = ASKED(FILE_CONTAINING_EXTENSION);
        to->file_containing_extension = extension;
        break;
    case REFLECTION_EXTENSIONS_OF_TYPE:
        to->message_request_case = ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE);
        to->all_extension_numbers_of_type = pb_text(from->name);
        break;
    case REFLECTION_SERVICES:
        to->message_request_case = ASKED(LIST_SERVICES);
        to->list_services = pb_text(from->name);
        break;
    }
}

/* ---- the answer ---- */

struct answer_parts {
    Grpc__Reflection__V1__FileDescriptorResponse files;
    Grpc__Reflection__V1__ExtensionNumberResponse extensions;
    Grpc__Reflection__V1__ListServiceResponse services;
    Grpc__Reflection__V1__ErrorResponse error;
};

static bool write_files(struct arena *arena, Grpc__Reflection__V1__FileDescriptorResponse *to,
                        const struct reflection_answer *from) {
    grpc__reflection__v1__file_descriptor_response__init(to);
    to->n_file_descriptor_proto = from->count;
    to->file_descriptor_proto = arena_get_array(arena, from->count, sizeof *to->file_descriptor_proto);
    if (!to->file_descriptor_proto) return false;
    for (size_t i = 0; i < from->count; i++) {
        to->file_descriptor_proto[i] =
            (ProtobufCBinaryData){from->files[i].size, (uint8_t *)from->files[i].data};
    }
    return true;
}

static bool write_services(struct arena *arena, Grpc__Reflection__V1__ListServiceResponse *to,
                           const struct reflection_answer *from) {
    Grpc__Reflection__V1__ServiceResponse *services;
    grpc__reflection__v1__list_service_response__init(to);
    to->n_service = from->count;
    if (!pb_array(arena, from->count, sizeof *services, (void **)&services, (void ***)&to->service))
        return false;
    for (size_t i = 0; i < from->count; i++) {
        grpc__reflection__v1__service_response__init(&services[i]);
        services[i].name = pb_text(from->services[i]);
    }
    return true;
}

static void write_error(Grpc__Reflection__V1__ErrorResponse *to, const struct reflection_answer *from) {
    grpc__reflection__v1__error_response__init(to);
    to->error_code = (int32_t)from->code;
    to->error_message = pb_text(from->message);
}

static bool write_answer(struct arena *arena, Response *to, struct answer_parts *parts,
                         const struct reflection_answer *from) {
    switch (from->kind) {
    case REFLECTION_FILES:
        to->message_response_case = ANSWERED(FILE_DESCRIPTOR_RESPONSE);
        to->file_descriptor_response = &parts->files;
        return write_files(arena, &parts->files, from);
    case REFLECTION_EXTENSIONS:
        to->message_response_case = ANSWERED(ALL_EXTENSION_NUMBERS_RESPONSE);
        to->all_extension_numbers_response = &parts->extensions;
        grpc__reflection__v1__extension_number_response__init(&parts->extensions);
        parts->extensions.base_type_name = pb_text(from->type);
        return true;
    case REFLECTION_NAMES:
        to->message_response_case = ANSWERED(LIST_SERVICES_RESPONSE);
        to->list_services_response = &parts->services;
        return write_services(arena, &parts->services, from);
    case REFLECTION_ERROR:
        to->message_response_case = ANSWERED(ERROR_RESPONSE);
        to->error_response = &parts->error;
        write_error(&parts->error, from);
    }
    return true;
}

sw_status reflection_answer_encode(const struct reflection_request *request,
                                   const struct reflection_answer *answer, sw_buffer **ret, sw_error *error) {
    Response message = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    Grpc__Reflection__V1__ExtensionRequest extension;
    Request original;
    struct answer_parts parts;
    struct arena arena;
    write_question(&original, &extension, request);
    message.valid_host = pb_text(request->host);
    message.original_request = &original;
    arena_init(&arena, &allocator_system, SIZE_MAX);
    bool made = write_answer(&arena, &message, &parts, answer);
    sw_status status = made ? pb_pack(&message.base, ret, error) : decode_out_of_memory(&arena, error);
    arena_destroy(&arena);
    return status;
}
