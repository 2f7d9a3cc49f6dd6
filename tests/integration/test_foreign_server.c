/* Our client and our command against servers that others made from stage.proto alone: grpc-js and Python's
 * grpcio. What the servers do stands in tests/support/foreign_server.mjs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <stagewire/client.h>

#include "proto/base/clock.h"
#include "tests/support/daemon.h"
#include "tests/support/test.h"

enum { BYTES = 6000 };

static struct daemon *server;
static sw_client *client;
static sw_error error;

static void open_to(const char *program) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.consumer_id = "c0";
    options.timeout_ms = 20000;
    server = daemon_start_program(program, (const char *const[]){NULL});
    cr_assert_not_null(server);
    cr_assert_eq(sw_client_open(daemon_target(server, 0), &options, &client, &error), SW_OK, "%s",
                 error.message);
}
static void open_grpcjs(void) {
    open_to(TEST_SUPPORT "/foreign_server.mjs");
}
static void open_grpcio(void) {
    open_to(TEST_SUPPORT "/foreign_server.py");
}
static void close_server(void) {
    sw_client_close(client);
    daemon_destroy(server);
}

TestSuite(grpcjs, .init = open_grpcjs, .fini = close_server, .timeout = 60);
TestSuite(grpcio, .init = open_grpcio, .fini = close_server, .timeout = 60);

#define WITH_EACH_SERVER(name)                                                                               \
    static void name(void);                                                                                  \
    Test(grpcjs, name) {                                                                                     \
        name();                                                                                              \
    }                                                                                                        \
    Test(grpcio, name) {                                                                                     \
        name();                                                                                              \
    }                                                                                                        \
    static void name(void)

#define EXPECT_OK(call) cr_assert_eq((call), SW_OK, "%s", error.message)
#define EXPECT(call, status, why)                                                                            \
    do {                                                                                                     \
        cr_assert_eq((call), SW_##status, "%s: %s", sw_status_name(error.code), error.message);              \
        cr_assert_eq(error.reason, SW_REASON_##why, "%s: %s", sw_reason_name(error.reason), error.message);  \
    } while (0)

/* ---- metrics ---- */

static sw_pull pull_of(const char *channel) {
    return (sw_pull){.address = {.channel = channel, .step = 1}};
}

static sw_status get(const char *channel, int64_t timeout_ms) {
    sw_metrics *metrics;
    sw_pull pull = pull_of(channel);
    pull.timeout_ms = timeout_ms;
    sw_status status = sw_client_get_metrics(client, &pull, &metrics, &error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    return status;
}

static int64_t number_of(sw_metrics *metrics) {
    int64_t number = sw_dict_get(sw_metrics_value(metrics), "v")->integer;
    sw_metrics_destroy(metrics);
    return number;
}

static void metrics_come_with_their_address_and_the_consumer_is_told(void) {
    sw_metrics *metrics;
    sw_pull pull = pull_of("consumer");
    EXPECT_OK(sw_client_get_metrics(client, &pull, &metrics, &error));
    const sw_value *value = sw_dict_get(sw_metrics_value(metrics), "v");
    cr_assert(value->bytes.size == 2 && memcmp(value->bytes.data, "c0", 2) == 0);
    cr_assert_str_eq(sw_metrics_address(metrics)->run_id, "run-f");
    cr_assert_eq(sw_metrics_address(metrics)->stage, 3);
    sw_metrics_destroy(metrics);
}

static void an_error_comes_with_its_reason_or_without_one(void) {
    EXPECT(get("refused", 0), ABORTED, SUPERSEDED);
    cr_assert_str_eq(sw_error_metadata(&error, "generation"), "7");
    cr_assert_str_eq(error.message, "it is over");
    EXPECT(get("bare", 0), NOT_FOUND, NONE);
    cr_assert_not_null(strstr(error.message, "nothing here"));
    EXPECT(get("of-another-domain", 0), NOT_FOUND, NONE);
}

static void a_server_that_is_not_there_now_is_asked_again_and_a_slow_one_is_waited_for(void) {
    EXPECT_OK(get("once", 0));
    sw_call *slow;
    sw_metrics *metrics;
    sw_pull pull = pull_of("slow");
    EXPECT_OK(sw_client_start_metrics(client, &pull, &slow, &error));
    EXPECT_OK(get("nudge", 0));
    EXPECT_OK(sw_call_finish_metrics(slow, &metrics, &error));
    cr_assert_eq(number_of(metrics), 2);
    sw_call_destroy(slow);
}

static void a_server_that_never_answers_is_a_deadline_without_a_reason(void) {
    EXPECT(get("silent", 300), DEADLINE_EXCEEDED, NONE);
    sw_tensors *tensors;
    sw_pull pull = pull_of("stuck");
    pull.timeout_ms = 300;
    EXPECT(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error), DEADLINE_EXCEEDED, NONE);
}

static void an_answer_about_something_else_and_one_that_cannot_be_read_are_data_loss(void) {
    EXPECT(get("another", 0), DATA_LOSS, CHECKSUM);
    EXPECT(get("unreadable", 0), DATA_LOSS, CHECKSUM);
}

/* ---- tensors ---- */

static void expect_whole(const char *channel) {
    sw_tensors *tensors;
    sw_pull pull = pull_of(channel);
    EXPECT_OK(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error));
    const sw_tensor_view *view = sw_tensors_find(tensors, "x");
    cr_assert(view && view->dtype == SW_U8 && view->rank == 2 && view->shape[1] == 3000);
    for (size_t i = 0; i < BYTES; i++) cr_assert_eq(((const uint8_t *)view->data)[i], i % 251);
    sw_tensors_destroy(tensors);
}

static void tensors_arrive_whole_with_hashes_and_without_and_when_the_stream_breaks(void) {
    expect_whole("whole");
    expect_whole("unhashed");
    expect_whole("cut");
}

static void a_stream_that_goes_on_beyond_its_byte_limit_is_ended_and_all_comes(void) {
    enum { BLOCKS = 8, MIB = 1 << 20 };
    sw_tensors *tensors;
    sw_pull pull = pull_of("endless");
    int64_t begun_ms = clock_now_ms(&clock_system);
    EXPECT_OK(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error));
    cr_assert_lt(clock_now_ms(&clock_system) - begun_ms, 10000,
                 "nobody waits until something ends the stream");
    const uint8_t *data = sw_tensors_view(tensors, 0)->data;
    cr_assert_eq(sw_tensors_view(tensors, 0)->size, BLOCKS * MIB);
    for (size_t i = 0; i < BLOCKS * MIB; i++) cr_assert_eq(data[i], i / MIB);
    sw_tensors_destroy(tensors);
}

static void a_manifest_comes_without_bytes(void) {
    sw_tensors *tensors;
    sw_pull pull = pull_of("whole");
    EXPECT_OK(sw_client_get_manifest(client, &pull, &tensors, &error));
    cr_assert_str_eq(sw_tensors_name(tensors, 0), "x");
    cr_assert_null(sw_tensors_view(tensors, 0)->data);
    sw_tensors_destroy(tensors);
}

static void wrong_blocks_missing_blocks_and_refusals_are_told(void) {
    sw_tensors *tensors;
    sw_pull pull = pull_of("wrong");
    EXPECT(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error), DATA_LOSS, CHECKSUM);
    pull = pull_of("short");
    EXPECT(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error), DATA_LOSS, CHECKSUM);
    pull = pull_of("refused");
    EXPECT(sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &error), NOT_FOUND, NO_SUCH_TENSOR);
    cr_assert_str_eq(sw_error_metadata(&error, "tensors"), "[\"x\"]");
}

/* ---- the rest ---- */

static sw_watch_event next(sw_watch *watch, sw_watch_event_type type) {
    sw_watch_event event;
    EXPECT_OK(sw_watch_next(watch, 10000, &event, &error));
    cr_assert_eq(event.type, type);
    return event;
}

static void a_watch_tells_every_event(void) {
    sw_watch *watch;
    EXPECT_OK(sw_client_watch(client, NULL, 0, SW_WATCH_OLDEST_HELD, NULL, 0, 10000, &watch, &error));
    cr_assert(sw_dict_get(next(watch, SW_EVENT_PUBLISHED).metrics, "v")->number == 0.5);
    cr_assert_str_eq(next(watch, SW_EVENT_FAILED).message, "nan");
    sw_watch_event gap = next(watch, SW_EVENT_GAP);
    cr_assert(gap.address.step == 3 && gap.has_next && gap.next.step == 5);
    sw_watch_event closed = next(watch, SW_EVENT_CLOSED);
    cr_assert(closed.address.step == 6 && closed.reason == SW_CLOSE_ABORTED);
    cr_assert_eq(next(watch, SW_EVENT_GENERATION).generation, 2);
    sw_watch_close(watch);
}

static void info_objects_and_releases(void) {
    sw_info *info;
    sw_object *object;
    const sw_exchange word = {.address = {.has_stage = true, .channel = "objects"}, .stage_count = 2};
    EXPECT_OK(sw_client_info(client, 0, &info, &error));
    cr_assert(info->channel_count == 2 && info->incarnation == 5);
    cr_assert_str_eq(info->channels[1].latest.channel, "b");
    sw_info_destroy(info);
    EXPECT_OK(sw_client_exchange(client, &word, &object, &error));
    cr_assert(sw_object_owner_count(object) == 1 && sw_object_owner(object, 0) == 1);
    cr_assert_eq(sw_object_value(object)->kind, SW_VALUE_TEXT);
    sw_object_destroy(object);
    const sw_address train = {.channel = "train"};
    EXPECT_OK(sw_client_release(client, &train, SW_METRICS, 5, 0, &error));
    EXPECT(sw_client_release(client, &train, SW_METRICS, 6, 0, &error), ABORTED, SUPERSEDED);
}

static void publishing_is_retried_where_there_was_no_room(void) {
    sw_publisher *publisher = sw_client_publisher(client);
    const sw_address train = {.channel = "train"};
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_number(0.5)}}, 1);
    bool duplicate = false;
    EXPECT_OK(sw_publish_metrics(publisher, &train, &metrics, 0, &duplicate, &error));
    cr_assert(duplicate);
    static uint8_t bytes[1200000];
    const int64_t shape[] = {sizeof bytes};
    const sw_named_tensor tensor = {
        .name = "x",
        .view = {.dtype = SW_U8, .rank = 1, .shape = shape, .data = bytes, .size = sizeof bytes}};
    EXPECT_OK(sw_publish_tensors(publisher, &train, &tensor, 1, 0, &duplicate, &error));
    cr_assert(duplicate);
    EXPECT_OK(sw_publish_failure(publisher, &train, SW_METRICS, "nan", 0, &duplicate, &error));
    cr_assert(duplicate);
    EXPECT(sw_close_channel(publisher, &train, SW_METRICS, false, SW_CLOSE_FINISHED, "", 0, &error),
           ALREADY_EXISTS, CONFLICT);
}

static void a_lease_is_held(void) {
    sw_publisher *publisher = sw_client_publisher(client);
    const sw_attachment trainer = {.generation = 4, .stage = 3, .stage_count = 4};
    uint64_t generation;
    sw_lease *lease;
    EXPECT_OK(sw_attach(publisher, &trainer, 0, &lease, &generation, &error));
    cr_assert_eq(generation, 4);
    EXPECT_OK(sw_lease_check(lease, &error));
    sw_lease_release(lease);
}

WITH_EACH_SERVER(the_client_pulls_and_is_told_what_is_wrong) {
    metrics_come_with_their_address_and_the_consumer_is_told();
    an_error_comes_with_its_reason_or_without_one();
    a_server_that_is_not_there_now_is_asked_again_and_a_slow_one_is_waited_for();
    a_server_that_never_answers_is_a_deadline_without_a_reason();
    an_answer_about_something_else_and_one_that_cannot_be_read_are_data_loss();
    tensors_arrive_whole_with_hashes_and_without_and_when_the_stream_breaks();
    a_stream_that_goes_on_beyond_its_byte_limit_is_ended_and_all_comes();
    a_manifest_comes_without_bytes();
    wrong_blocks_missing_blocks_and_refusals_are_told();
}

WITH_EACH_SERVER(the_client_makes_every_other_call) {
    a_watch_tells_every_event();
    info_objects_and_releases();
    publishing_is_retried_where_there_was_no_room();
    a_lease_is_held();
}

/* ---- the command ---- */

/* Its exit status; `ret_out` is what it printed. */
static int command(const char *words, const char *options, char *ret_out, size_t size) {
    char line[512];
    snprintf(line, sizeof line, STAGEWIRE_CLI " get %s %s %s 2>&1", daemon_target(server, 0), words, options);
    FILE *out = popen(line, "r");
    cr_assert_not_null(out);
    ret_out[fread(ret_out, 1, size - 1, out)] = 0;
    return WEXITSTATUS(pclose(out));
}

WITH_EACH_SERVER(the_command_prints_what_came_and_exits_by_what_was_wrong) {
    char out[4096];
    cr_assert_eq(command("nudge 1", "--json", out, sizeof out), 0, "%s", out);
    cr_assert_not_null(strstr(out, "\"metrics\": {\"v\": 3}"), "%s", out);
    cr_assert_eq(command("refused 1", "", out, sizeof out), 7, "%s", out);
    cr_assert_not_null(strstr(out, "it is over"), "%s", out);
    cr_assert_eq(command("bare 1", "", out, sizeof out), 3, "%s", out);
    cr_assert_eq(command("silent 1", "--timeout 300ms", out, sizeof out), 4, "%s", out);
    cr_assert_eq(command("unreadable 1", "", out, sizeof out), 8, "%s", out);
    cr_assert_eq(command("whole 1", "--tensors", out, sizeof out), 0, "%s", out);
    cr_assert_not_null(strstr(out, "U8"), "%s", out);
}
