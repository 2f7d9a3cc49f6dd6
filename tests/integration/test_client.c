/* The client library against a real daemon: pulling, cancelling, descriptors, releasing, exchanging. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "proto/base/clock.h"
#include "tests/support/client.h"
#include "tests/support/test.h"

static struct bench b;

static void open_bench(void) {
    bench_open(&b, NULL);
}
static void close_bench(void) {
    bench_close(&b);
}

TestSuite(client, .init = open_bench, .fini = close_bench, .timeout = 60);

static int64_t value_of(const sw_metrics *metrics) {
    return sw_dict_get(sw_metrics_value(metrics), "v")->integer;
}

/* ---- waiting ---- */

static void *publish_when_one_waits(void *context) {
    bench_wait_for_waiting(&b, 1);
    bench_publish(&b, (const char *)context, 7, 42);
    return NULL;
}

Test(client, a_pull_waits_and_is_woken_by_its_publish) {
    pthread_t thread;
    sw_metrics *metrics;
    pthread_create(&thread, NULL, publish_when_one_waits, (void *)"train");
    sw_pull pull = {.address = {.channel = "train", .step = 7}, .timeout_ms = 20000};
    bench_ok(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error));
    cr_assert_eq(value_of(metrics), 42);
    cr_assert_eq(sw_metrics_address(metrics)->generation, 1);
    cr_assert_eq(sw_metrics_address(metrics)->stage, 3);
    cr_assert_str_eq(sw_metrics_address(metrics)->channel, "train");
    cr_assert_str_eq(sw_metrics_address(metrics)->run_id, "run-a");
    cr_assert_gt(sw_metrics_published_unix_ns(metrics), 0);
    sw_metrics_destroy(metrics);
    pthread_join(thread, NULL);
}

Test(client, a_wait_that_ends_names_what_was_there_instead) {
    sw_metrics *metrics = NULL;
    bench_publish(&b, "train", 4, 1);
    sw_pull pull = {.address = {.channel = "train", .step = 7}, .timeout_ms = 150};
    bench_fails(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error), SW_DEADLINE_EXCEEDED,
                SW_REASON_NOT_YET);
    cr_assert_str_eq(sw_error_metadata(&b.error, "latest"), "4/0");
    cr_assert_null(metrics);
    pull.no_wait = true;
    pull.timeout_ms = 0;
    bench_fails(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error), SW_NOT_FOUND,
                SW_REASON_NOT_YET);
}

Test(client, the_latest_comes_with_its_own_address) {
    sw_metrics *metrics;
    bench_publish(&b, "train", 4, 1);
    bench_publish(&b, "train", 9, 2);
    sw_pull pull = {.address = {.channel = "train"}, .latest = true};
    bench_ok(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error));
    cr_assert_eq(sw_metrics_address(metrics)->step, 9);
    cr_assert_eq(value_of(metrics), 2);
    sw_metrics_destroy(metrics);
}

/* ---- calls that don't block ---- */

static sw_call *start_waiting(void) {
    sw_call *call;
    sw_pull pull = {.address = {.channel = "train", .step = 7}, .timeout_ms = 20000};
    bench_ok(&b, sw_client_start_metrics(b.client, &pull, &call, &b.error));
    return call;
}

static bool is_readable(int fd, int timeout_ms) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, timeout_ms) == 1;
}

Test(client, a_calls_descriptor_becomes_readable_when_it_is_over) {
    sw_metrics *metrics;
    sw_call *call = start_waiting();
    bench_wait_for_waiting(&b, 1);
    cr_assert_not(sw_call_done(call));
    cr_assert_not(is_readable(sw_call_fd(call), 0));
    bench_publish(&b, "train", 7, 5);
    cr_assert(is_readable(sw_call_fd(call), 20000));
    cr_assert(sw_call_done(call));
    bench_ok(&b, sw_call_finish_metrics(call, &metrics, &b.error));
    cr_assert_eq(value_of(metrics), 5);
    sw_metrics_destroy(metrics);
    bench_fails(&b, sw_call_finish_metrics(call, &metrics, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    sw_call_destroy(call);
}

Test(client, a_call_is_finished_by_the_function_of_its_kind) {
    sw_tensors *tensors;
    sw_object *object;
    sw_call *call = start_waiting();
    bench_fails(&b, sw_call_finish_tensors(call, &tensors, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    bench_fails(&b, sw_call_finish_object(call, &object, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    sw_call_destroy(call);
}

Test(client, a_cancelled_pull_ends_and_leaves_nothing_behind) {
    sw_metrics *metrics;
    sw_call *call = start_waiting();
    bench_wait_for_waiting(&b, 1);
    sw_call_cancel(call);
    sw_call_cancel(call);
    bench_fails(&b, sw_call_finish_metrics(call, &metrics, &b.error), SW_CANCELLED, SW_REASON_NONE);
    cr_assert_not_null(strstr(b.error.message, "metrics \"train\", step 7"), "%s", b.error.message);
    cr_assert(is_readable(sw_call_fd(call), 0));
    sw_call_cancel(call);
    sw_call_destroy(call);
    bench_wait_for_waiting(&b, 0);
}

Test(client, a_call_destroyed_under_way_leaves_nothing_behind) {
    sw_call *call = start_waiting();
    bench_wait_for_waiting(&b, 1);
    sw_call_destroy(call);
    bench_wait_for_waiting(&b, 0);
    sw_call_destroy(start_waiting());
    sw_call_destroy(NULL);
    bench_wait_for_waiting(&b, 0);
}

Test(client, a_client_that_is_closed_cancels_what_is_open) {
    sw_client *client = bench_client(&b, NULL);
    sw_call *call;
    sw_pull pull = {.address = {.channel = "train", .step = 7}, .timeout_ms = 20000};
    bench_ok(&b, sw_client_start_metrics(client, &pull, &call, &b.error));
    sw_call_destroy(call);
    sw_client_close(client);
    sw_client_close(NULL);
    bench_wait_for_waiting(&b, 0);
}

enum { THREADS = 4, ROUNDS = 25 };

static void *pull_and_cancel(void *context) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        sw_call *waiting = start_waiting();
        sw_metrics *metrics;
        sw_pull pull = {.address = {.channel = "there", .step = 1}};
        sw_error error;
        cr_assert_eq(sw_client_get_metrics(b.client, &pull, &metrics, &error), SW_OK);
        cr_assert_eq(value_of(metrics), 11);
        sw_metrics_destroy(metrics);
        if (round % 2) sw_call_cancel(waiting);
        sw_call_destroy(waiting);
    }
    return context;
}

Test(client, many_threads_pull_and_cancel_through_one_client) {
    pthread_t threads[THREADS];
    bench_publish(&b, "there", 1, 11);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, pull_and_cancel, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    bench_wait_for_waiting(&b, 0);
}

/* ---- tensors ---- */

enum { BIG = (3 << 19) + 12 };
static float big[BIG / 4];
static uint8_t small[3] = {7, 8, 9};

static void publish_tensors(uint64_t step) {
    for (size_t i = 0; i < BIG / 4; i++) big[i] = (float)(i * step);
    const int64_t big_shape[] = {BIG / 4}, small_shape[] = {3, 1}, none[] = {4, 0};
    const sw_named_tensor tensors[] = {
        {.name = "big", .view = {SW_F32, 1, big_shape, big, sizeof big}},
        {.name = "small", .view = {SW_U8, 2, small_shape, small, sizeof small}},
        {.name = "none", .view = {SW_F64, 2, none, NULL, 0}},
    };
    sw_address address = {.channel = "tensors", .step = step};
    bool duplicate;
    bench_ok(&b, sw_publish_tensors(b.publisher, &address, tensors, 3, 0, &duplicate, &b.error));
    cr_assert_not(duplicate);
}

static sw_pull pull_of_tensors(uint64_t step) {
    return (sw_pull){.address = {.channel = "tensors", .step = step}};
}

Test(client, every_tensor_of_a_step_arrives_in_memory_of_the_library) {
    sw_tensors *tensors;
    publish_tensors(5);
    sw_pull pull = pull_of_tensors(5);
    bench_ok(&b, sw_client_get_tensors(b.client, &pull, NULL, 0, &tensors, &b.error));
    cr_assert_eq(sw_tensors_count(tensors), 3);
    const sw_tensor_view *view = sw_tensors_find(tensors, "big");
    cr_assert_eq(view->dtype, SW_F32);
    cr_assert_eq(view->size, sizeof big);
    cr_assert_eq(memcmp(view->data, big, sizeof big), 0);
    view = sw_tensors_find(tensors, "small");
    cr_assert_eq(view->rank, 2);
    cr_assert_eq(view->shape[0], 3);
    cr_assert_eq(memcmp(view->data, small, 3), 0);
    cr_assert_eq(sw_tensors_find(tensors, "none")->size, 0);
    cr_assert_eq(sw_tensors_address(tensors)->step, 5);
    sw_tensors_destroy(tensors);
}

Test(client, tensors_are_written_straight_into_the_callers_memory) {
    static float into[BIG / 4];
    sw_tensors *tensors;
    publish_tensors(5);
    sw_pull pull = pull_of_tensors(5);
    sw_tensor_request requests[] = {{.name = "small"}, {"big", into, sizeof into}};
    bench_ok(&b, sw_client_get_tensors(b.client, &pull, requests, 2, &tensors, &b.error));
    cr_assert_eq(sw_tensors_count(tensors), 2);
    cr_assert_str_eq(sw_tensors_name(tensors, 0), "small");
    cr_assert_eq(sw_tensors_view(tensors, 1)->data, into);
    sw_tensors_destroy(tensors);
    cr_assert_eq(memcmp(into, big, sizeof big), 0);
}

Test(client, memory_of_the_wrong_size_is_refused_and_not_written) {
    uint8_t into[4] = {1, 1, 1, 1};
    sw_tensors *tensors;
    publish_tensors(5);
    sw_pull pull = pull_of_tensors(5);
    sw_tensor_request request = {"small", into, sizeof into};
    bench_fails(&b, sw_client_get_tensors(b.client, &pull, &request, 1, &tensors, &b.error),
                SW_INVALID_ARGUMENT, SW_REASON_NONE);
    cr_assert_not_null(strstr(b.error.message, "4 bytes"), "%s", b.error.message);
    cr_assert_eq(into[0], 1);
    request.name = "large";
    bench_fails(&b, sw_client_get_tensors(b.client, &pull, &request, 1, &tensors, &b.error), SW_NOT_FOUND,
                SW_REASON_NO_SUCH_TENSOR);
    cr_assert_not_null(strstr(sw_error_metadata(&b.error, "tensors"), "small"));
}

Test(client, a_manifest_tells_names_types_and_shapes_without_bytes) {
    sw_tensors *tensors;
    publish_tensors(5);
    sw_pull pull = {.address = {.channel = "tensors"}, .latest = true};
    bench_ok(&b, sw_client_get_manifest(b.client, &pull, &tensors, &b.error));
    cr_assert_eq(sw_tensors_count(tensors), 3);
    cr_assert_null(sw_tensors_find(tensors, "big")->data);
    cr_assert_eq(sw_tensors_find(tensors, "big")->shape[0], BIG / 4);
    cr_assert_eq(sw_tensors_find(tensors, "none")->dtype, SW_F64);
    sw_tensors_destroy(tensors);
}

Test(client, tensors_of_a_step_to_come_are_waited_for) {
    sw_call *call;
    sw_tensors *tensors;
    sw_pull pull = pull_of_tensors(6);
    bench_ok(&b, sw_client_start_tensors(b.client, &pull, NULL, 0, &call, &b.error));
    bench_wait_for_waiting(&b, 1);
    publish_tensors(6);
    bench_ok(&b, sw_call_finish_tensors(call, &tensors, &b.error));
    cr_assert_eq(memcmp(sw_tensors_find(tensors, "big")->data, big, sizeof big), 0);
    sw_tensors_destroy(tensors);
    sw_call_destroy(call);
}

/* ---- exchanging ---- */

Test(client, all_stages_meet_and_get_the_object_of_the_one_that_has_it) {
    sw_call *call;
    sw_object *object;
    const sw_value text = sw_text("vocabulary");
    sw_exchange word = {.address = {.channel = "objects", .has_stage = true, .stage = 0, .step = 1},
                        .stage_count = 2,
                        .value = &text,
                        .timeout_ms = 20000};
    bench_ok(&b, sw_client_start_exchange(b.client, &word, &call, &b.error));
    word.address.stage = 1;
    word.value = NULL;
    bench_ok(&b, sw_client_exchange(b.client, &word, &object, &b.error));
    cr_assert_eq(sw_object_owner_count(object), 1);
    cr_assert_eq(sw_object_owner(object, 0), 0);
    cr_assert_eq(sw_object_value(object)->kind, SW_VALUE_TEXT);
    sw_object_destroy(object);
    bench_ok(&b, sw_call_finish_object(call, &object, &b.error));
    cr_assert_eq(memcmp(sw_object_value(object)->bytes.data, "vocabulary", 10), 0);
    sw_object_destroy(object);
    sw_call_destroy(call);
}

Test(client, an_exchange_that_nobody_joins_names_the_silent_stages) {
    sw_object *object;
    sw_exchange word = {.address = {.channel = "objects", .has_stage = true, .stage = 1},
                        .stage_count = 2,
                        .timeout_ms = 150};
    bench_fails(&b, sw_client_exchange(b.client, &word, &object, &b.error), SW_DEADLINE_EXCEEDED,
                SW_REASON_NOT_YET);
    cr_assert_str_eq(sw_error_metadata(&b.error, "stages"), "[0]");
}

/* ---- what is checked before anything is sent ---- */

Test(client, a_value_that_has_no_form_on_the_wire_is_refused_at_once) {
    sw_client *nobody;
    bench_ok(&b, sw_client_open("127.0.0.1:1", NULL, &nobody, &b.error));
    const sw_value bad = sw_dict((sw_entry[]){{sw_text_of("name"), sw_text("\xff")}}, 1);
    sw_address address = {.channel = "train"};
    bench_fails(&b, sw_publish_metrics(sw_client_publisher(nobody), &address, &bad, 0, NULL, &b.error),
                SW_INVALID_ARGUMENT, SW_REASON_MALFORMED);
    const int64_t shape[] = {2};
    sw_named_tensor tensor = {.name = "t", .view = {SW_F32, 1, shape, small, 3}};
    bench_fails(&b, sw_publish_tensors(sw_client_publisher(nobody), &address, &tensor, 1, 0, NULL, &b.error),
                SW_INVALID_ARGUMENT, SW_REASON_MALFORMED);
    cr_assert_str_eq(sw_error_metadata(&b.error, "path"), "tensors[0].data");
    sw_tensor_request twice[] = {{.name = "a"}, {.name = "a"}};
    sw_tensors *tensors;
    sw_pull pull = {.address = address};
    bench_fails(&b, sw_client_get_tensors(nobody, &pull, twice, 2, &tensors, &b.error), SW_INVALID_ARGUMENT,
                SW_REASON_MALFORMED);
    sw_client_close(nobody);
}

Test(client, options_and_names_that_cannot_be_are_refused) {
    sw_client *client = NULL;
    sw_client_options options;
    bench_fails(&b, sw_client_open("nowhere", NULL, &client, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    sw_client_options_init(&options);
    options.timeout_ms = 0;
    bench_fails(&b, sw_client_open("a:1", &options, &client, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    sw_client_options_init(&options);
    options.endpoint_grace_ms = -1;
    bench_fails(&b, sw_client_open("a:1", &options, &client, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    sw_client_options_init(&options);
    options.connections = 17;
    bench_fails(&b, sw_client_open("a:1", &options, &client, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    char long_id[300];
    memset(long_id, 'x', sizeof long_id);
    long_id[sizeof long_id - 1] = '\0';
    sw_client_options_init(&options);
    options.consumer_id = long_id;
    bench_fails(&b, sw_client_open("a:1", &options, &client, &b.error), SW_INVALID_ARGUMENT, SW_REASON_NONE);
    cr_assert_null(client);
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train"}, .timeout_ms = -5};
    bench_fails(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error), SW_INVALID_ARGUMENT,
                SW_REASON_NONE);
}

/* ---- releasing ---- */

static uint64_t released_below(void) {
    sw_info *info;
    bench_ok(&b, sw_client_info(b.client, 0, &info, &b.error));
    uint64_t below = UINT64_MAX;
    for (uint32_t i = 0; i < info->channel_count; i++)
        if (info->channels[i].consumer_count == 1) below = info->channels[i].released_below[0];
    sw_info_destroy(info);
    return below;
}

static sw_lease *expect_consumer(const char *id) {
    sw_lease *lease;
    sw_channel_policy policy = {
        .channel = "train", .kind = SW_METRICS, .consumers = &id, .consumer_count = 1};
    sw_attachment attachment = {.stage = 3, .stage_count = 4, .policies = &policy, .policy_count = 1};
    bench_ok(&b, sw_attach(b.publisher, &attachment, 0, &lease, NULL, &b.error));
    return lease;
}

static void pull_step(sw_client *client, sw_address address, bool keep) {
    sw_metrics *metrics;
    sw_pull pull = {.address = address, .keep = keep, .timeout_ms = 20000};
    bench_ok(&b, sw_client_get_metrics(client, &pull, &metrics, &b.error));
    sw_metrics_destroy(metrics);
}

#define STEP(number)                                                                                         \
    ((sw_address){.generation = 1, .has_stage = true, .stage = 3, .channel = "train", .step = (number)})

Test(client, what_arrived_whole_is_released_with_the_next_pull) {
    sw_lease *lease = expect_consumer("stage-0");
    sw_client *consumer = bench_client(&b, "stage-0");
    for (uint64_t step = 0; step < 4; step++) bench_publish(&b, "train", step, 1);
    pull_step(consumer, STEP(0), false);
    cr_assert_eq(released_below(), 0);
    pull_step(consumer, STEP(1), false);
    cr_assert_eq(released_below(), 1);
    pull_step(consumer, STEP(2), true);
    pull_step(consumer, STEP(3), false);
    cr_assert_eq(released_below(), 2, "what was kept is not released");
    sw_address channel = STEP(0);
    bench_ok(&b, sw_client_release(consumer, &channel, SW_METRICS, 4, 0, &b.error));
    cr_assert_eq(released_below(), 4);
    sw_client_close(consumer);
    sw_lease_release(lease);
}

/* The release goes out before the pull, in a call of its own; the order in which they arrive is not ours. */
Test(client, a_pull_that_leaves_the_generation_open_releases_by_itself) {
    sw_lease *lease = expect_consumer("stage-0");
    sw_client *consumer = bench_client(&b, "stage-0");
    for (uint64_t step = 0; step < 2; step++) bench_publish(&b, "train", step, 1);
    pull_step(consumer, (sw_address){.channel = "train", .step = 0}, false);
    pull_step(consumer, (sw_address){.channel = "train", .step = 1}, false);
    while (released_below() != 1) continue;
    sw_client_close(consumer);
    sw_lease_release(lease);
}

Test(client, an_observer_has_nothing_to_release) {
    sw_address channel = STEP(0);
    bench_fails(&b, sw_client_release(b.client, &channel, SW_METRICS, 4, 0, &b.error), SW_FAILED_PRECONDITION,
                SW_REASON_NONE);
}

static sw_lease *expect_consumer_of_tensors(const char *id) {
    sw_lease *lease;
    sw_channel_policy policy = {
        .channel = "tensors", .kind = SW_TENSORS, .keep_steps = 1, .consumers = &id, .consumer_count = 1};
    sw_attachment attachment = {.stage = 3, .stage_count = 4, .policies = &policy, .policy_count = 1};
    bench_ok(&b, sw_attach(b.publisher, &attachment, 0, &lease, NULL, &b.error));
    return lease;
}

static void pull_tensors_whole(sw_client *client, uint64_t step) {
    sw_tensors *tensors;
    sw_pull pull = {.address = STEP(step)};
    pull.address.channel = "tensors";
    bench_ok(&b, sw_client_get_tensors(client, &pull, NULL, 0, &tensors, &b.error));
    sw_tensors_destroy(tensors);
}

static uint64_t pinned_bytes(void) {
    sw_info *info;
    bench_ok(&b, sw_client_info(b.client, 0, &info, &b.error));
    uint64_t bytes = info->streams > 0 ? UINT64_MAX : info->pinned_bytes;
    sw_info_destroy(info);
    return bytes;
}

/* An endpoint may hear of a stream's end after its consumer. A pin that lasts, lasts longer than this. */
static void expect_pinned(uint64_t bytes) {
    int64_t end = clock_now_ms(&clock_system) + 10000;
    while (pinned_bytes() != bytes) cr_assert_lt(clock_now_ms(&clock_system), end);
}

Test(client, what_its_consumer_has_whole_gives_its_memory_back_and_what_an_observer_pulled_does_not) {
    sw_lease *lease = expect_consumer_of_tensors("stage-0");
    sw_client *consumer = bench_client(&b, "stage-0");
    sw_address channel = {.channel = "tensors"};
    publish_tensors(5);
    pull_tensors_whole(consumer, 5);
    publish_tensors(6);
    pull_tensors_whole(consumer, 6);
    expect_pinned(0);
    publish_tensors(7);
    bench_ok(&b, sw_client_release(consumer, &channel, SW_TENSORS, 7, 0, &b.error));
    expect_pinned(0);
    pull_tensors_whole(consumer, 7);
    pull_tensors_whole(b.client, 7);
    publish_tensors(8);
    pull_tensors_whole(consumer, 8);
    expect_pinned(sizeof big + sizeof small);
    sw_client_close(consumer);
    sw_lease_release(lease);
}

/* ---- fork ---- */

static bool refused(sw_status status) {
    return status == SW_FAILED_PRECONDITION;
}

static int use_after_fork(sw_call *call, sw_lease *lease, sw_watch *watch) {
    sw_metrics *metrics;
    sw_watch_event event;
    sw_client *another;
    sw_info *info;
    sw_pull pull = {.address = {.channel = "train"}, .no_wait = true};
    bool all = refused(sw_client_get_metrics(b.client, &pull, &metrics, NULL)) &&
               refused(sw_client_info(b.client, 0, &info, NULL)) &&
               refused(sw_call_finish_metrics(call, &metrics, NULL)) &&
               refused(sw_lease_check(lease, NULL)) && refused(sw_watch_next(watch, 0, &event, NULL)) &&
               refused(sw_client_open("a:1", NULL, &another, NULL));
    sw_call_cancel(call);
    sw_call_destroy(call);
    sw_watch_close(watch);
    sw_lease_release(lease);
    sw_client_close(b.client);
    return all ? 0 : 1;
}

Test(client, a_forked_child_is_refused_everything_and_hangs_nowhere) {
    sw_watch *watch;
    sw_lease *lease = expect_consumer("stage-0");
    sw_call *call = start_waiting();
    bench_ok(&b, sw_client_watch(b.client, NULL, 0, SW_WATCH_NEW, NULL, 0, 0, &watch, &b.error));
    pid_t child = fork();
    if (child == 0) _exit(use_after_fork(call, lease, watch));
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sw_call_destroy(call);
    sw_watch_close(watch);
    sw_lease_release(lease);
    bench_publish(&b, "train", 0, 1);
}
