/* What a client refuses by itself, with no endpoint anywhere. */
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/test.h"

static sw_client *client;
static sw_error error;

static void set_up(void) {
    cr_assert_eq(sw_client_open("unix:/nonexistent/socket", NULL, &client, &error), SW_OK);
}
static void tear_down(void) {
    sw_client_close(client);
}

TestSuite(refusals, .init = set_up, .fini = tear_down);

static const sw_address address = {.channel = "train", .step = 1};

Test(refusals, metrics_are_a_dict_or_a_list_of_dicts) {
    const sw_value number = sw_number(1);
    cr_assert_eq(sw_publish_metrics(sw_client_publisher(client), &address, &number, 0, NULL, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
}

static const char *path_of(const sw_named_tensor *tensor) {
    cr_assert_eq(sw_publish_tensors(sw_client_publisher(client), &address, tensor, 1, 0, NULL, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    return sw_error_metadata(&error, "path");
}

Test(refusals, tensors_that_are_none_are_named_by_their_path) {
    static const int64_t two[] = {2}, negative[] = {-1};
    uint8_t bytes[2] = {0};
    cr_assert_str_eq(path_of(&(sw_named_tensor){.name = "", .view = {SW_U8, 1, two, bytes, 2}}),
                     "tensors[0].name");
    cr_assert_str_eq(path_of(&(sw_named_tensor){.name = "t", .view = {SW_U8, 1, negative, bytes, 2}}),
                     "tensors[0].shape");
    cr_assert_str_eq(path_of(&(sw_named_tensor){.name = "t", .view = {(sw_dtype)99, 1, two, bytes, 2}}),
                     "tensors[0].shape");
    cr_assert_str_eq(path_of(&(sw_named_tensor){.name = "t", .view = {SW_F32, 1, two, bytes, 2}}),
                     "tensors[0].data");
    cr_assert_str_eq(path_of(&(sw_named_tensor){.name = "t", .view = {SW_U8, 1, two, NULL, 2}}),
                     "tensors[0].data");
}

Test(refusals, more_tensors_than_an_item_takes_are_too_large) {
    static sw_named_tensor tensors[20001];
    cr_assert_eq(sw_publish_tensors(sw_client_publisher(client), &address, tensors, 20001, 0, NULL, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_TOO_LARGE);
}

Test(refusals, a_watch_begins_somewhere) {
    sw_watch *watch = NULL;
    cr_assert_eq(sw_client_watch(client, NULL, 0, (sw_watch_start)9, NULL, 0, 0, &watch, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_null(watch);
}

Test(refusals, what_cannot_be_reached_is_unavailable_at_the_deadline_and_names_item_and_endpoint) {
    sw_tensors *tensors = NULL;
    sw_pull pull = {.address = address, .timeout_ms = 120};
    cr_assert_eq(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error), SW_UNAVAILABLE);
    cr_assert_eq(error.reason, SW_REASON_NONE);
    cr_assert_not_null(strstr(error.message, "tensors \"train\", step 1"), "%s", error.message);
    cr_assert_not_null(strstr(error.message, "unix:/nonexistent/socket"), "%s", error.message);
    cr_assert_null(tensors);
}
