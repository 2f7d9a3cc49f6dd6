/* Reflection's and health's messages, from another implementation's generated types, and the descriptions
 * that reflection hands out. */
#include <string.h>

#include <grpc/health/v1/health.pb-c.h>
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "proto/base/limits.h"
#include "proto/wire/descriptors.h"
#include "proto/wire/health.h"
#include "proto/wire/reflection.h"
#include "tests/support/test.h"

static struct arena arena;
static sw_error error;

static void setup(void) {
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
}
static void teardown(void) {
    arena_destroy(&arena);
}
TestSuite(reflection, .init = setup, .fini = teardown);
TestSuite(descriptors);
TestSuite(health, .init = setup, .fini = teardown);

/* ---- health ---- */

Test(health, a_request_and_a_response_arrive) {
    sw_buffer *bytes;
    const char *service;
    enum health_status status;
    cr_assert_eq(health_request_encode("a.B", &bytes, &error), SW_OK);
    cr_assert_eq(
        health_request_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &arena, &service, &error), SW_OK);
    cr_assert_str_eq(service, "a.B");
    sw_buffer_unref(bytes);
    cr_assert_eq(health_response_encode(HEALTH_NOT_SERVING, &bytes, &error), SW_OK);
    cr_assert_eq(health_response_decode(sw_buffer_data(bytes), sw_buffer_size(bytes), &status, &error),
                 SW_OK);
    cr_assert_eq((int)status, HEALTH_NOT_SERVING);
    sw_buffer_unref(bytes);
}

Test(health, an_empty_request_asks_for_the_whole) {
    const char *service;
    cr_assert_eq(health_request_decode("", 0, &arena, &service, &error), SW_OK);
    cr_assert_str_eq(service, "");
}

Test(health, a_status_of_a_later_version_is_unknown) {
    enum health_status status;
    cr_assert_eq(health_response_decode("\x08\x63", 2, &status, &error), SW_OK);
    cr_assert_eq((int)status, HEALTH_UNKNOWN);
}

Test(health, what_is_no_message_is_malformed) {
    const char *service;
    enum health_status status;
    cr_assert_eq(health_request_decode("\x0a\x02\xff\xfe", 4, &arena, &service, &error), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "service");
    cr_assert_eq(health_response_decode("\x08", 1, &status, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(health_list_request_decode("\x08", 1, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(health_list_request_decode("", 0, &error), SW_OK);
}

Test(health, a_list_is_a_map) {
    const struct health_entry entries[] = {{"", HEALTH_SERVING}, {"a", HEALTH_NOT_SERVING}};
    sw_buffer *bytes;
    cr_assert_eq(health_list_encode(entries, 2, &bytes, &error), SW_OK);
    Grpc__Health__V1__HealthListResponse *list =
        grpc__health__v1__health_list_response__unpack(NULL, sw_buffer_size(bytes), sw_buffer_data(bytes));
    cr_assert_eq(list->n_statuses, 2);
    cr_assert_str_eq(list->statuses[1]->key, "a");
    cr_assert_eq((int)list->statuses[1]->value->status, HEALTH_NOT_SERVING);
    grpc__health__v1__health_list_response__free_unpacked(list, NULL);
    sw_buffer_unref(bytes);
}

/* ---- reflection ---- */

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;

static Response *answer_to(const struct reflection_request *request, const struct reflection_answer *answer) {
    sw_buffer *bytes;
    cr_assert_eq(reflection_answer_encode(request, answer, &bytes, &error), SW_OK);
    Response *response = grpc__reflection__v1__server_reflection_response__unpack(NULL, sw_buffer_size(bytes),
                                                                                  sw_buffer_data(bytes));
    sw_buffer_unref(bytes);
    cr_assert_not_null(response);
    return response;
}

static void free_response(Response *response) {
    grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);
}

/* Decodes the request, and answers it: what was asked comes back as it was. */
static struct reflection_request round_trip(const Request *request) {
    uint8_t packed[256];
    const struct reflection_answer answer = {
        .kind = REFLECTION_ERROR, .code = SW_NOT_FOUND, .message = "none"};
    struct reflection_request decoded;
    size_t size = grpc__reflection__v1__server_reflection_request__pack(request, packed);
    cr_assert_eq(reflection_request_decode(packed, size, &arena, &decoded, &error), SW_OK);
    Response *response = answer_to(&decoded, &answer);
    uint8_t again[256];
    cr_assert_eq(grpc__reflection__v1__server_reflection_request__pack(response->original_request, again),
                 size);
    cr_assert_eq(memcmp(packed, again, size), 0);
    cr_assert_eq(response->error_response->error_code, SW_NOT_FOUND);
    cr_assert_str_eq(response->error_response->error_message, "none");
    free_response(response);
    return decoded;
}

#define ASKED(what) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##what

Test(reflection, every_question_is_understood_and_comes_back_with_its_answer) {
    Grpc__Reflection__V1__ExtensionRequest extension = GRPC__REFLECTION__V1__EXTENSION_REQUEST__INIT;
    Request request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
    request.host = (char *)"h";
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_UNKNOWN);
    request.message_request_case = ASKED(FILE_BY_FILENAME);
    request.file_by_filename = (char *)"f";
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_FILE_BY_NAME);
    cr_assert_str_eq(round_trip(&request).name, "f");
    request.message_request_case = ASKED(FILE_CONTAINING_SYMBOL);
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_FILE_OF_SYMBOL);
    request.message_request_case = ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE);
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_EXTENSIONS_OF_TYPE);
    request.message_request_case = ASKED(LIST_SERVICES);
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_SERVICES);
    request.message_request_case = ASKED(FILE_CONTAINING_EXTENSION);
    extension.containing_type = (char *)"t";
    extension.extension_number = -7;
    request.file_containing_extension = &extension;
    cr_assert_eq((int)round_trip(&request).question, REFLECTION_FILE_OF_EXTENSION);
    cr_assert_eq(round_trip(&request).number, -7);
}

Test(reflection, files_services_and_extensions_are_encoded) {
    const struct reflection_request request = {.host = "h", .name = ""};
    const struct span files[] = {{(const uint8_t *)"one", 3}, {(const uint8_t *)"", 0}};
    const char *const services_named[] = {"a.B", "c.D"};
    Response *response = answer_to(
        &request, &(struct reflection_answer){.kind = REFLECTION_FILES, .files = files, .count = 2});
    cr_assert_eq(response->file_descriptor_response->n_file_descriptor_proto, 2);
    cr_assert_eq(memcmp(response->file_descriptor_response->file_descriptor_proto[0].data, "one", 3), 0);
    free_response(response);
    response = answer_to(&request, &(struct reflection_answer){
                                       .kind = REFLECTION_NAMES, .services = services_named, .count = 2});
    cr_assert_str_eq(response->list_services_response->service[1]->name, "c.D");
    free_response(response);
    response = answer_to(&request, &(struct reflection_answer){.kind = REFLECTION_EXTENSIONS, .type = "a.M"});
    cr_assert_str_eq(response->all_extension_numbers_response->base_type_name, "a.M");
    free_response(response);
}

/* ---- descriptions ---- */

/* Protobuf by hand: "f" imports "g", which imports "h" and "g" again; "f" declares p.M with a message N, a
 * field a, an enumeration E of value V in it, and a service S with a method T. */
static const uint8_t set[] = "\x0a\x32\x0a\x01"
                             "f\x12\x01p\x1a\x01g"
                             "\x22\x1d\x0a\x01M\x12\x03\x0a\x01"
                             "a\x1a\x03\x0a\x01N\x22\x0e\x0a\x01"
                             "E\x12\x03\x0a\x01V\x12\x04\x0a\x02WW"
                             "\x32\x08\x0a\x01S\x12\x03\x0a\x01T"
                             "\x0a\x09\x0a\x01g\x1a\x01h\x1a\x01g"
                             "\x0a\x06\x0a\x01h\x12\x01q";
#define SET ((struct span){set, sizeof set - 1})

Test(descriptors, a_file_comes_with_all_that_it_imports_once) {
    struct descriptor_files files;
    cr_assert(descriptors_of_file(SET, "f", &files));
    cr_assert_eq(files.count, 3);
    cr_assert_eq(files.files[0].size, 0x32);
    cr_assert_eq(files.files[1].size, 9);
    cr_assert_eq(files.files[2].size, 6);
    cr_assert(descriptors_of_file(SET, "h", &files));
    cr_assert_eq(files.count, 1);
    cr_assert(!descriptors_of_file(SET, "", &files));
    cr_assert(!descriptors_of_file(SET, "ff", &files));
}

Test(descriptors, a_symbol_is_found_by_its_full_name_alone) {
    const char *const there[] = {"p.M", "p.M.a", "p.M.N", "p.M.E", "p.M.V", "p.M.WW", "p.S", "p.S.T"};
    const char *const nowhere[] = {"",      "p",       "M",     "p.",      "p.MM",  "p.M.",
                                   "p.M.b", "p.M.E.V", "p.M.W", "p.S.T.T", "q.M.N", ".p.M"};
    struct descriptor_files files;
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        cr_assert(descriptors_of_symbol(SET, there[i], &files), "%s", there[i]);
        cr_assert_eq(files.count, 3);
    }
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        cr_assert(!descriptors_of_symbol(SET, nowhere[i], &files), "%s", nowhere[i]);
}

Test(descriptors, messages_are_told_from_other_symbols) {
    cr_assert(descriptors_have_message(SET, "p.M"));
    cr_assert(descriptors_have_message(SET, "p.M.N"));
    cr_assert(!descriptors_have_message(SET, "p.M.E"));
    cr_assert(!descriptors_have_message(SET, "p.M.a"));
    cr_assert(!descriptors_have_message(SET, "p.S"));
}

Test(descriptors, what_is_compiled_in_has_all_services) {
    const struct span own = {embedded_descriptors, embedded_descriptors_size};
    struct descriptor_files files;
    cr_assert(descriptors_of_symbol(own, "stagewire.v1.StageService.GetStageInfo", &files));
    cr_assert(descriptors_of_symbol(own, "grpc.health.v1.Health", &files));
    cr_assert(descriptors_of_symbol(own, "grpc.reflection.v1.ServerReflection", &files));
    cr_assert(descriptors_of_symbol(own, "grpc.reflection.v1alpha.ServerReflection", &files));
}
