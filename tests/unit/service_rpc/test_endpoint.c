/* An endpoint in the process, without a listener: publishing straight into it, leases, waiting for room,
 * closing. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "service/rpc/endpoint.h"
#include "tests/support/test.h"

static sw_endpoint *endpoint;
static sw_publisher *publisher;
static sw_error error;

static void open_with(uint64_t store_bytes, uint64_t metrics_bytes) {
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.run_id = "r";
    options.stage = 3;
    options.keep_steps = 1;
    if (store_bytes) options.store_bytes = store_bytes;
    if (metrics_bytes) options.metrics_bytes = metrics_bytes;
    cr_assert_eq(sw_endpoint_open(&options, &endpoint, &error), SW_OK, "%s", error.message);
    publisher = sw_endpoint_publisher(endpoint);
}
static void setup(void) {
    open_with(0, 0);
}
static void setup_small(void) {
    open_with(1 << 20, 64);
}
static void teardown(void) {
    sw_endpoint_close(endpoint, 0);
}
TestSuite(endpoint, .init = setup, .fini = teardown, .timeout = 60);
TestSuite(endpoint_small, .init = setup_small, .fini = teardown, .timeout = 60);

static sw_address train(uint64_t step) {
    return (sw_address){.channel = "train", .step = step};
}

static sw_status publish(uint64_t step, int64_t value, int64_t timeout_ms, bool *ret_duplicate) {
    const sw_address at = train(step);
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer(value)}}, 1);
    return sw_publish_metrics(publisher, &at, &metrics, timeout_ms, ret_duplicate, &error);
}

static uint8_t bytes[600000];
static const int64_t shape[] = {sizeof bytes};

static sw_status publish_tensor(uint64_t step, sw_buffer *buffer, bool *ret_duplicate) {
    const sw_address at = train(step);
    const sw_named_tensor tensor = {
        .name = "t",
        .view = {.dtype = SW_U8, .rank = 1, .shape = shape, .data = bytes, .size = sizeof bytes},
        .buffer = buffer};
    return sw_publish_tensors(publisher, &at, &tensor, 1, 0, ret_duplicate, &error);
}

/* Pulls without waiting, past the wire. */
static sw_status pull(uint64_t step, sw_item_kind kind, const struct store_item **ret_item) {
    const struct pull_request request = {
        .address = {.run_id = "", .channel = "train", .step = step}, .wait.no_wait = true, .consumer.id = ""};
    struct store_pull pulled = {.request = &request, .kind = kind, .until_ms = CLOCK_NEVER};
    cr_assert(store_pull_start(guard_lock(&endpoint->guard), &pulled));
    guard_unlock(&endpoint->guard);
    if (pulled.status == SW_OK) *ret_item = pulled.item;
    error = pulled.error;
    return pulled.status;
}
static void give_back(const struct store_item *item) {
    store_item_release(guard_lock(&endpoint->guard), item);
    guard_unlock(&endpoint->guard);
}

static sw_lease *attach_with(const sw_channel_policy *policies, uint32_t count) {
    sw_lease *lease;
    uint64_t generation = 0;
    const sw_attachment attachment = {
        .run_id = "r", .stage = 3, .stage_count = 4, .policies = policies, .policy_count = count};
    cr_assert_eq(sw_attach(publisher, &attachment, 0, &lease, &generation, &error), SW_OK, "%s",
                 error.message);
    cr_assert_eq(generation, 1);
    return lease;
}

/* Consumer c0 must release a step before it may go. */
static sw_lease *attach_for_c0(sw_item_kind kind) {
    const char *const consumers[] = {"c0"};
    const sw_channel_policy policy = {
        .channel = "train", .kind = kind, .consumers = consumers, .consumer_count = 1};
    return attach_with(&policy, 1);
}

static void release_below(sw_item_kind kind, uint64_t step) {
    const struct consumer_request c0 = {.id = "c0", .release_below = step};
    const struct release_request request = {
        .address = {.run_id = "", .channel = "train"}, .kind = kind, .consumers = &c0, .consumer_count = 1};
    cr_assert_eq(store_release(guard_lock(&endpoint->guard), &request, &error), SW_OK, "%s", error.message);
    guard_unlock_changed(&endpoint->guard);
}

/* ---- publishing ---- */

Test(endpoint, what_is_published_in_the_process_is_held_and_again_a_duplicate) {
    bool duplicate = true;
    const struct store_item *item;
    cr_assert_eq(publish(7, 1, 0, &duplicate), SW_OK, "%s", error.message);
    cr_assert(!duplicate);
    cr_assert_eq(publish(7, 1, 0, &duplicate), SW_OK);
    cr_assert(duplicate);
    cr_assert_eq(publish(7, 2, 0, NULL), SW_ALREADY_EXISTS);
    cr_assert_eq(error.reason, SW_REASON_CONFLICT);
    cr_assert_eq(pull(7, SW_METRICS, &item), SW_OK);
    cr_assert_eq(item->address.stage, 3);
    give_back(item);
}

Test(endpoint, the_rules_of_the_wire_hold_in_the_process_too) {
    const sw_value metrics = sw_dict(NULL, 0);
    const sw_address bad = {.channel = "bad name"}, none = {.channel = NULL};
    cr_assert_eq(sw_publish_metrics(publisher, &bad, &metrics, 0, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_str_eq(sw_error_metadata(&error, "path"), "address.channel");
    cr_assert_eq(sw_publish_failure(publisher, &none, SW_METRICS, "no", 0, NULL, &error),
                 SW_INVALID_ARGUMENT);
    cr_assert_eq(sw_close_channel(publisher, &bad, SW_METRICS, false, SW_CLOSE_FINISHED, NULL, 0, &error),
                 SW_INVALID_ARGUMENT);
    const sw_named_tensor tensor = {
        .name = "t", .view = {.dtype = SW_F32, .rank = 1, .shape = shape, .data = bytes, .size = 4}};
    const sw_address at = train(0);
    cr_assert_eq(sw_publish_tensors(publisher, &at, &tensor, 1, 0, NULL, &error), SW_INVALID_ARGUMENT);
    cr_assert_eq(error.reason, SW_REASON_MALFORMED);
    const sw_attachment beyond = {.run_id = "r", .stage = 4, .stage_count = 4};
    sw_lease *lease;
    cr_assert_eq(sw_attach(publisher, &beyond, 0, &lease, NULL, &error), SW_INVALID_ARGUMENT);
}

Test(endpoint, a_tensor_is_copied_and_may_be_changed_afterwards) {
    const struct store_item *item;
    bool duplicate;
    memset(bytes, 5, sizeof bytes);
    cr_assert_eq(publish_tensor(1, NULL, &duplicate), SW_OK, "%s", error.message);
    memset(bytes, 6, sizeof bytes);
    cr_assert_eq(pull(1, SW_TENSORS, &item), SW_OK, "%s", error.message);
    const struct tensor *tensor = &item->tensors->tensors[0];
    cr_assert_eq(((const uint8_t *)sw_buffer_data(tensor->bytes))[599999], 5);
    cr_assert_eq(tensor->block_hashes[1],
                 block_hash((const uint8_t *)sw_buffer_data(tensor->bytes) + 524288, 600000 - 524288));
    give_back(item);
    cr_assert_eq(publish_tensor(1, NULL, NULL), SW_ALREADY_EXISTS, "other bytes are another content");
    memset(bytes, 5, sizeof bytes);
    cr_assert_eq(publish_tensor(1, NULL, &duplicate), SW_OK, "%s", error.message);
    cr_assert(duplicate);
}

static _Atomic int released;
static void count_release(void *context) {
    (void)context;
    atomic_fetch_add(&released, 1);
}

Test(endpoint, a_tensor_that_is_handed_over_is_not_copied_and_released_when_it_has_gone) {
    const struct store_item *item;
    sw_buffer *buffer;
    cr_assert_eq(sw_buffer_wrap(bytes, sizeof bytes, count_release, NULL, &buffer, NULL), SW_OK);
    cr_assert_eq(publish_tensor(1, buffer, NULL), SW_OK, "%s", error.message);
    sw_buffer_unref(buffer);
    cr_assert_eq(pull(1, SW_TENSORS, &item), SW_OK);
    cr_assert(sw_buffer_data(item->tensors->tensors[0].bytes) == bytes);
    give_back(item);
    cr_assert_eq(atomic_load(&released), 0);
    sw_endpoint_close(endpoint, 0);
    endpoint = NULL;
    cr_assert_eq(atomic_load(&released), 1);
}

Test(endpoint, a_failure_and_a_closing_are_told_to_who_pulls) {
    const struct store_item *item;
    const sw_address at = train(4);
    cr_assert_eq(sw_publish_failure(publisher, &at, SW_METRICS, "nan", 0, NULL, &error), SW_OK, "%s",
                 error.message);
    cr_assert_eq(pull(4, SW_METRICS, &item), SW_ABORTED);
    cr_assert_eq(error.reason, SW_REASON_STEP_FAILED);
    const sw_address all = {0};
    cr_assert_eq(sw_close_channel(publisher, &all, 0, true, SW_CLOSE_ABORTED, "why", 0, &error), SW_OK, "%s",
                 error.message);
    cr_assert_eq(pull(5, SW_METRICS, &item), SW_ABORTED);
    cr_assert_eq(error.reason, SW_REASON_PUBLISHER_ABORTED);
}

/* ---- waiting for room ---- */

struct publisher_thread {
    pthread_t thread;
    uint64_t step;
    int64_t timeout_ms;
    sw_status status;
    sem_t begun;
};

static void *publish_second(void *context) {
    struct publisher_thread *self = context;
    sem_post(&self->begun);
    self->status = publish_tensor(self->step, NULL, NULL);
    return NULL;
}

/* Returns once the thread waits inside the endpoint. */
static void start_publisher(struct publisher_thread *self, uint64_t step) {
    *self = (struct publisher_thread){.step = step};
    sem_init(&self->begun, 0, 0);
    pthread_create(&self->thread, NULL, publish_second, self);
    while (sem_wait(&self->begun) != 0) {
    }
    for (bool waits = false; !waits;) {
        guard_lock(&endpoint->guard);
        waits = endpoint->guard.waiting > 0;
        guard_unlock(&endpoint->guard);
    }
}

Test(endpoint_small, a_publish_that_finds_no_room_goes_on_as_soon_as_a_consumer_releases) {
    struct publisher_thread second;
    sw_lease *lease = attach_for_c0(SW_TENSORS);
    cr_assert_eq(publish_tensor(0, NULL, NULL), SW_OK, "%s", error.message);
    start_publisher(&second, 1);
    release_below(SW_TENSORS, 1);
    pthread_join(second.thread, NULL);
    cr_assert_eq(second.status, SW_OK, "%s", error.message);
    sw_lease_release(lease);
}

Test(endpoint_small, a_publish_that_finds_no_room_in_time_is_store_full_and_names_who_holds_it) {
    const struct store_item *item;
    sw_lease *lease = attach_for_c0(SW_METRICS);
    uint64_t step = 0;
    while (step < 100 && publish(step, (int64_t)step, 50, NULL) == SW_OK) step++;
    cr_assert(step > 0 && step < 100);
    cr_assert_eq(error.reason, SW_REASON_STORE_FULL, "%s", error.message);
    cr_assert_str_eq(sw_error_metadata(&error, "consumers"), "[\"c0\"]");
    cr_assert_eq(pull(0, SW_METRICS, &item), SW_OK, "nothing has gone");
    give_back(item);
    sw_lease_release(lease);
}

Test(endpoint_small, closing_ends_a_publish_that_waits) {
    struct publisher_thread second;
    sw_lease *lease = attach_for_c0(SW_TENSORS);
    cr_assert_eq(publish_tensor(0, NULL, NULL), SW_OK, "%s", error.message);
    start_publisher(&second, 1);
    sw_endpoint_close(endpoint, 0);
    endpoint = NULL;
    pthread_join(second.thread, NULL);
    cr_assert_eq(second.status, SW_UNAVAILABLE);
    cr_assert_eq(error.reason, SW_REASON_SHUTTING_DOWN);
    sw_lease_release(lease);
}

/* ---- leases ---- */

Test(endpoint, a_lease_ends_with_its_generation) {
    sw_lease *lease = attach_with(NULL, 0), *next;
    uint64_t generation;
    const sw_attachment newer = {.run_id = "r", .generation = 2, .stage = 3, .stage_count = 4};
    cr_assert_eq(sw_lease_check(lease, &error), SW_OK);
    cr_assert_eq(sw_attach(publisher, &newer, 0, &next, &generation, &error), SW_OK, "%s", error.message);
    cr_assert_eq(generation, 2);
    cr_assert_eq(sw_lease_check(lease, &error), SW_FAILED_PRECONDITION);
    cr_assert_eq(error.reason, SW_REASON_STALE_GENERATION);
    cr_assert_eq(sw_lease_check(next, &error), SW_OK);
    sw_lease_release(lease);
    sw_lease_release(next);
    sw_lease_release(NULL);
}

Test(endpoint, a_lease_may_be_released_after_its_endpoint_was_closed) {
    sw_lease *lease = attach_with(NULL, 0);
    sw_endpoint_close(endpoint, 0);
    endpoint = NULL;
    cr_assert_eq(sw_lease_check(lease, &error), SW_UNAVAILABLE);
    cr_assert_eq(error.reason, SW_REASON_SHUTTING_DOWN);
    sw_lease_release(lease);
}

/* ---- drain, options, fork ---- */

Test(endpoint, draining_refuses_publishes_and_ends_when_c0_has_released) {
    sw_lease *lease = attach_for_c0(SW_METRICS);
    cr_assert_eq(publish(0, 1, 0, NULL), SW_OK);
    sw_endpoint_drain(endpoint);
    cr_assert_eq(publish(1, 1, 0, NULL), SW_UNAVAILABLE);
    cr_assert_eq(error.reason, SW_REASON_SHUTTING_DOWN);
    cr_assert_eq(sw_endpoint_wait_drained(endpoint, 20, &error), SW_DEADLINE_EXCEEDED);
    release_below(SW_METRICS, 1);
    cr_assert_eq(sw_endpoint_wait_drained(endpoint, 10000, &error), SW_OK, "%s", error.message);
    sw_lease_release(lease);
}

Test(endpoint, what_is_wrong_with_the_options_is_named) {
    sw_endpoint *none = NULL;
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    cr_assert_eq(sw_endpoint_open(&options, &none, &error), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "run_id"));
    options.run_id = "\xff";
    cr_assert_eq(sw_endpoint_open(&options, &none, &error), SW_INVALID_ARGUMENT);
    options.run_id = "r";
    options.keep_steps = 0;
    cr_assert_eq(sw_endpoint_open(&options, &none, &error), SW_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "keep_steps"));
    options.keep_steps = 1;
    options.max_wait_ms = -1;
    cr_assert_eq(sw_endpoint_open(&options, &none, &error), SW_INVALID_ARGUMENT);
    cr_assert_null(none);
}

Test(endpoint, a_forked_child_gets_an_error_instead_of_hanging) {
    pid_t child = fork();
    if (child == 0) {
        bool refused = publish(0, 1, 0, NULL) == SW_FAILED_PRECONDITION;
        refused = refused && sw_endpoint_wait_drained(endpoint, 0, &error) == SW_FAILED_PRECONDITION;
        sw_endpoint_drain(endpoint);
        sw_endpoint_close(endpoint, 0);
        _exit(refused ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cr_assert_eq(publish(0, 1, 0, NULL), SW_OK, "%s", error.message);
}
