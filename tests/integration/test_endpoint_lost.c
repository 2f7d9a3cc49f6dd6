/* What the client library makes of endpoints that go, come back, refuse, and never were. */
#include <pthread.h>
#include <string.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/relay.h"
#include "tests/support/test.h"

enum { GRACE_MS = 400 };

static struct bench b;
static struct relay *relay;
static sw_client *client; /* through the relay to the daemon's socket; with a short grace */

static void open_all(void) {
    static const char *const more[] = {"--publisher-grace", "1500ms", "--store-bytes", "2m", NULL};
    bench_open(&b, more);
    relay = relay_open(b.socket);
    client = bench_client_of(&b, relay_target(relay), GRACE_MS);
}

static void close_all(void) {
    sw_client_close(client);
    relay_close(relay);
    bench_close(&b);
}

TestSuite(endpoint_lost, .init = open_all, .fini = close_all, .timeout = 60);

static sw_status get(sw_client *from, uint64_t step, int64_t timeout_ms) {
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = step}, .timeout_ms = timeout_ms};
    sw_status status = sw_client_get_metrics(from, &pull, &metrics, &b.error);
    if (status == SW_OK) sw_metrics_destroy(metrics);
    return status;
}

/* ---- pulls ---- */

Test(endpoint_lost, a_waiting_pull_is_told_when_an_endpoint_that_was_reached_stays_away) {
    sw_call *call;
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = 20000};
    bench_ok(&b, sw_client_start_metrics(client, &pull, &call, &b.error));
    bench_wait_for_waiting(&b, 1);
    bench_down(&b);
    bench_fails(&b, sw_call_finish_metrics(call, &metrics, &b.error), SW_UNAVAILABLE,
                SW_REASON_ENDPOINT_LOST);
    cr_assert_not_null(strstr(b.error.message, "metrics \"train\", step 1"), "%s", b.error.message);
    cr_assert_not_null(strstr(b.error.message, relay_target(relay)), "%s", b.error.message);
    sw_call_destroy(call);
    bench_fails(&b, get(client, 2, 20000), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    sw_lease *lease;
    sw_attachment attachment = {.stage = 3, .stage_count = 4};
    bench_fails(&b, sw_attach(sw_client_publisher(client), &attachment, 20000, &lease, NULL, &b.error),
                SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
}

Test(endpoint_lost, a_waiting_pull_goes_on_when_the_connection_comes_back_in_time) {
    sw_call *call;
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = 20000};
    sw_client *patient = bench_client_of(&b, relay_target(relay), 20000);
    bench_ok(&b, sw_client_start_metrics(patient, &pull, &call, &b.error));
    bench_wait_for_waiting(&b, 1);
    relay_cut(relay);
    bench_publish(&b, "train", 1, 1);
    bench_ok(&b, sw_call_finish_metrics(call, &metrics, &b.error));
    sw_metrics_destroy(metrics);
    sw_call_destroy(call);
    sw_client_close(patient);
}

/* It cancels then what is under way on it, which is a break, and no answer. */
Test(endpoint_lost, a_waiting_pull_goes_on_when_the_endpoint_hears_the_end_of_its_connection) {
    sw_call *call;
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = 20000};
    relay_retarget(relay, daemon_target(b.daemon, 0));
    sw_client *patient = bench_client_of(&b, relay_target(relay), 20000);
    for (int i = 0; i < 20; i++) {
        pull.address.step = (uint64_t)i;
        bench_ok(&b, sw_client_start_metrics(patient, &pull, &call, &b.error));
        bench_wait_for_waiting(&b, 1);
        unsigned connections = relay_connections(relay);
        relay_half_close(relay, RELAY_TO_ENDPOINT);
        cr_assert(relay_wait_for_connections(relay, connections + 1, 20000));
        bench_publish(&b, "train", pull.address.step, 1);
        bench_ok(&b, sw_call_finish_metrics(call, &metrics, &b.error));
        sw_metrics_destroy(metrics);
        sw_call_destroy(call);
    }
    sw_client_close(patient);
}

Test(endpoint_lost, an_endpoint_that_comes_back_is_found_again) {
    bench_publish(&b, "train", 1, 1);
    bench_ok(&b, get(client, 1, 0));
    bench_down(&b);
    bench_fails(&b, get(client, 1, 20000), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    bench_up(&b);
    sw_client *publisher = bench_client(&b, NULL);
    bench_ok(&b, bench_publish_by(publisher, "train", 1, 1, &b.error));
    sw_status status;
    do status = get(client, 1, 0);
    while (status == SW_UNAVAILABLE);
    bench_ok(&b, status);
    sw_client_close(publisher);
}

Test(endpoint_lost, one_that_was_never_reached_is_tried_until_the_deadline) {
    relay_refuse(relay, true);
    bench_fails(&b, get(client, 1, 700), SW_UNAVAILABLE, SW_REASON_NONE);
    cr_assert_not_null(strstr(b.error.message, "metrics \"train\", step 1"), "%s", b.error.message);
    cr_assert_not_null(strstr(b.error.message, "can't be reached"), "%s", b.error.message);
    relay_refuse(relay, false);
    bench_publish(&b, "train", 1, 1);
    bench_ok(&b, get(client, 1, 0));
}

/* ---- refusals pass as they are ---- */

Test(endpoint_lost, what_the_endpoint_refuses_is_not_tried_again) {
    sw_client *stranger;
    sw_client_options options;
    sw_client_options_init(&options);
    options.run_id = "run-b";
    bench_ok(&b, sw_client_open(relay_target(relay), &options, &stranger, &b.error));
    bench_fails(&b, get(stranger, 1, 20000), SW_FAILED_PRECONDITION, SW_REASON_RUN_MISMATCH);
    sw_client_close(stranger);
    bench_publish(&b, "train", 2, 1);
    sw_address address = {.channel = "train", .step = 1};
    const sw_value metrics = sw_dict(NULL, 0);
    bench_fails(&b, sw_publish_metrics(b.publisher, &address, &metrics, 0, NULL, &b.error),
                SW_FAILED_PRECONDITION, SW_REASON_STEP_WENT_BACK);
}

Test(endpoint_lost, a_failed_step_ends_a_pull_with_the_publishers_words) {
    sw_address address = {.channel = "train", .step = 1};
    bench_ok(&b, sw_publish_failure(b.publisher, &address, SW_METRICS, "loss is NaN", 0, NULL, &b.error));
    bench_fails(&b, get(client, 1, 0), SW_ABORTED, SW_REASON_STEP_FAILED);
    cr_assert_str_eq(sw_error_metadata(&b.error, "message"), "loss is NaN");
}

/* ---- publishes that wait ---- */

static uint64_t generation_of(uint64_t step) {
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = step}};
    bench_ok(&b, sw_client_get_metrics(b.client, &pull, &metrics, &b.error));
    uint64_t generation = sw_metrics_address(metrics)->generation;
    sw_metrics_destroy(metrics);
    return generation;
}

/* The lease is tried more and more seldom; the publish is there at once. */
Test(endpoint_lost, a_publish_to_an_endpoint_that_was_started_anew_waits_for_the_lease) {
    sw_client *patient = bench_client_of(&b, relay_target(relay), 20000);
    sw_lease *lease;
    sw_attachment attachment = {.generation = 5, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(sw_client_publisher(patient), &attachment, 0, &lease, NULL, &b.error));
    bench_ok(&b, bench_publish_by(patient, "train", 1, 1, &b.error));
    bench_down(&b);
    bench_fails(&b, get(patient, 1, 2500), SW_UNAVAILABLE, SW_REASON_NONE);
    bench_up(&b);
    bench_ok(&b, bench_publish_by(patient, "train", 2, 2, &b.error));
    sw_client_close(b.client);
    b.client = bench_client(&b, NULL);
    cr_assert_eq(generation_of(2), 5);
    bench_ok(&b, sw_lease_check(lease, &b.error));
    sw_lease_release(lease);
    sw_client_close(patient);
}

Test(endpoint_lost, a_publish_of_a_generation_that_nobody_attaches_is_refused_at_once) {
    sw_lease *lease;
    sw_attachment attachment = {.generation = 5, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(b.publisher, &attachment, 0, &lease, NULL, &b.error));
    const sw_value metrics = sw_dict(NULL, 0);
    sw_address address = {.channel = "train", .step = 1, .generation = 6};
    bench_fails(&b, sw_publish_metrics(b.publisher, &address, &metrics, 0, NULL, &b.error),
                SW_FAILED_PRECONDITION, SW_REASON_NOT_ATTACHED);
    sw_lease_release(lease);
}

enum { MIB = 1 << 20 };
static uint8_t bytes[3 * MIB / 2];

static sw_status publish_tensor(uint64_t step, int64_t timeout_ms) {
    const int64_t shape[] = {sizeof bytes};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, bytes, sizeof bytes}};
    sw_address address = {.channel = "tensors", .step = step};
    return sw_publish_tensors(b.publisher, &address, &tensor, 1, timeout_ms, NULL, &b.error);
}

static sw_lease *declare_consumer(void) {
    static const char *const consumers[] = {"c0"};
    sw_lease *lease;
    sw_channel_policy policy = {
        .channel = "tensors", .kind = SW_TENSORS, .consumers = consumers, .consumer_count = 1};
    sw_attachment attachment = {.stage = 3, .stage_count = 4, .policies = &policy, .policy_count = 1};
    bench_ok(&b, sw_attach(b.publisher, &attachment, 0, &lease, NULL, &b.error));
    return lease;
}

static void *release_step(void *context) {
    sw_client *consumer = bench_client(&b, "c0");
    sw_address address = {.generation = 1, .has_stage = true, .stage = 3, .channel = "tensors"};
    cr_assert_eq(sw_client_release(consumer, &address, SW_TENSORS, 2, 0, NULL), SW_OK);
    sw_client_close(consumer);
    return context;
}

Test(endpoint_lost, a_publish_without_room_waits_for_a_release_and_then_says_who_holds_it_up) {
    sw_lease *lease = declare_consumer();
    bench_ok(&b, publish_tensor(1, 0));
    bench_fails(&b, publish_tensor(2, 300), SW_RESOURCE_EXHAUSTED, SW_REASON_STORE_FULL);
    cr_assert_str_eq(sw_error_metadata(&b.error, "consumers"), "[\"c0\"]");
    pthread_t thread;
    pthread_create(&thread, NULL, release_step, NULL);
    bench_ok(&b, publish_tensor(2, 20000));
    pthread_join(thread, NULL);
    sw_lease_release(lease);
}

static void count_release(void *context) {
    ++*(int *)context;
}

Test(endpoint_lost, a_tensor_handed_over_by_reference_is_let_go) {
    static int released;
    sw_buffer *buffer;
    bench_ok(&b, sw_buffer_wrap(bytes, sizeof bytes, count_release, &released, &buffer, &b.error));
    const int64_t shape[] = {sizeof bytes};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, NULL, 0}, .buffer = buffer};
    sw_address address = {.channel = "tensors", .step = 1};
    sw_client *own = bench_client(&b, NULL);
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(own), &address, &tensor, 1, 0, NULL, &b.error));
    sw_buffer_unref(buffer);
    sw_client_close(own);
    cr_assert_eq(released, 1);
}

/* ---- leases ---- */

static sw_lease *attach_by(sw_client *holder, uint64_t generation) {
    sw_lease *lease;
    uint64_t begun;
    sw_attachment attachment = {.generation = generation, .stage = 3, .stage_count = 4};
    bench_ok(&b, sw_attach(sw_client_publisher(holder), &attachment, 0, &lease, &begun, &b.error));
    cr_assert_eq(begun, generation ? generation : 1);
    return lease;
}

static sw_lease *attach(uint64_t generation) {
    return attach_by(client, generation);
}

Test(endpoint_lost, a_lease_is_taken_up_again_when_the_connection_is_cut) {
    sw_client *patient = bench_client_of(&b, relay_target(relay), 20000);
    sw_lease *lease = attach_by(patient, 0);
    sw_call *call;
    sw_metrics *metrics;
    sw_pull pull = {.address = {.channel = "train", .step = 1}, .timeout_ms = 20000};
    bench_ok(&b, sw_client_start_metrics(b.client, &pull, &call, &b.error));
    for (int i = 0; i < 5; i++) {
        unsigned connections = relay_connections(relay);
        relay_cut(relay);
        cr_assert(relay_wait_for_connections(relay, connections + 1, 20000));
        bench_ok(&b, sw_lease_check(lease, &b.error));
    }
    bench_publish(&b, "train", 1, 1);
    bench_ok(&b, sw_call_finish_metrics(call, &metrics, &b.error));
    sw_metrics_destroy(metrics);
    sw_call_destroy(call);
    sw_lease_release(lease);
    sw_client_close(patient);
}

Test(endpoint_lost, a_released_lease_is_a_loss_after_the_grace) {
    sw_lease_release(attach(0));
    bench_fails(&b, get(client, 1, 20000), SW_ABORTED, SW_REASON_PUBLISHER_LOST);
}

static sw_status wait_for_its_end(sw_lease *lease) {
    sw_status status;
    do status = sw_lease_check(lease, &b.error);
    while (status == SW_OK);
    return status;
}

Test(endpoint_lost, a_lease_ends_when_a_newer_generation_begins) {
    sw_lease *old = attach(0), *new = attach(2);
    bench_fails(&b, wait_for_its_end(old), SW_FAILED_PRECONDITION, SW_REASON_STALE_GENERATION);
    bench_ok(&b, sw_lease_check(new, &b.error));
    sw_lease_release(old);
    sw_lease_release(new);
}

Test(endpoint_lost, a_lease_ends_when_its_endpoint_stays_away) {
    sw_lease *lease = attach(0);
    bench_down(&b);
    bench_fails(&b, wait_for_its_end(lease), SW_UNAVAILABLE, SW_REASON_ENDPOINT_LOST);
    cr_assert_not_null(strstr(b.error.message, "stage 3, group 0"), "%s", b.error.message);
    sw_lease_release(lease);
    sw_lease_release(NULL);
}

/* The new endpoint never saw steps 1 to 5; from the lease it learns that they were. */
Test(endpoint_lost, an_endpoint_that_was_started_anew_learns_what_was_published_before) {
    sw_client *patient = bench_client_of(&b, b.socket, 20000);
    sw_lease *lease;
    sw_channel_policy policy = {.channel = "train", .kind = SW_METRICS, .keep_steps = 10};
    sw_attachment attachment = {.stage = 3, .stage_count = 4, .policies = &policy, .policy_count = 1};
    bench_ok(&b, sw_attach(sw_client_publisher(patient), &attachment, 0, &lease, NULL, &b.error));
    for (uint64_t step = 1; step <= 5; step++)
        bench_ok(&b, bench_publish_by(patient, "train", step, 1, &b.error));
    bench_down(&b);
    bench_up(&b);
    sw_client *other = bench_client_of(&b, b.socket, 20000);
    while (get(other, 3, 100) == SW_DEADLINE_EXCEEDED) continue;
    cr_assert_eq(b.error.reason, SW_REASON_EVICTED, "%s", b.error.message);
    bench_ok(&b, bench_publish_by(patient, "train", 5, 2, &b.error));
    bench_ok(&b, get(other, 5, 0));
    sw_client_close(other);
    sw_lease_release(lease);
    sw_client_close(patient);
}

Test(endpoint_lost, an_attach_that_is_refused_says_why) {
    sw_lease *lease, *first = attach(2);
    sw_attachment old = {.generation = 1, .stage = 3, .stage_count = 4};
    bench_fails(&b, sw_attach(sw_client_publisher(client), &old, 0, &lease, NULL, &b.error),
                SW_FAILED_PRECONDITION, SW_REASON_STALE_GENERATION);
    sw_lease_release(first);
}

Test(endpoint_lost, an_attach_that_nobody_answers_ends_at_its_deadline) {
    sw_lease *lease;
    relay_stall(relay, true);
    sw_attachment attachment = {.stage = 3, .stage_count = 4};
    bench_fails(&b, sw_attach(sw_client_publisher(client), &attachment, 300, &lease, NULL, &b.error),
                SW_DEADLINE_EXCEEDED, SW_REASON_NONE);
    relay_stall(relay, false);
}
