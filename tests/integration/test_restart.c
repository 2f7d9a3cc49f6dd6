/* The endpoint is restarted under load, as an update does it: SIGTERM, a drain, a new process at the same
 * addresses that knows nothing. Its clients see nothing of it but that a call takes longer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "tests/support/daemon.h"
#include "tests/support/test.h"

enum { RESTARTS = 3, STEPS_BETWEEN = 12, STEPS = (RESTARTS + 1) * STEPS_BETWEEN, LEAD = 3, TENSOR = 3 << 20 };

static char folder[] = "/tmp/stagewire-restart-XXXXXX";
static char socket_name[64], tcp[64];
static struct daemon *endpoint;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static uint64_t pulled, watched; /* steps */

static void start(void) {
    const char *const args[] = {"--listen", socket_name, "--listen", tcp, "--run-id", "r",
                                "--stage",  "3",         "--stages", "4", NULL};
    endpoint = daemon_start(args);
    cr_assert_not_null(endpoint);
    strcpy(tcp, daemon_target(endpoint, 1));
}

static void restart(void) {
    cr_assert_eq(daemon_stop(endpoint), 0, "%s", daemon_log(endpoint));
    daemon_destroy(endpoint);
    start();
}

static sw_client *connect_to(const char *target, const char *consumer) {
    sw_client_options options;
    sw_client *client;
    sw_error error;
    sw_client_options_init(&options);
    options.consumer_id = consumer;
    options.timeout_ms = 30000;
    cr_assert_eq(sw_client_open(target, &options, &client, &error), SW_OK, "%s", error.message);
    return client;
}

static void reach(uint64_t *counter, uint64_t steps) {
    pthread_mutex_lock(&mutex);
    *counter = steps;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&mutex);
}

static void await(const uint64_t *counter, uint64_t steps) {
    pthread_mutex_lock(&mutex);
    while (*counter < steps) pthread_cond_wait(&moved, &mutex);
    pthread_mutex_unlock(&mutex);
}

#define expect_ok(call, step)                                                                                \
    cr_assert_eq((call), SW_OK, "step %lu: %s", (unsigned long)(step), error.message)

/* ---- the last stage's trainer ---- */

static uint8_t tensor_bytes[TENSOR];

static sw_lease *declare(sw_publisher *publisher) {
    static const char *const consumers[] = {"c0"};
    const sw_channel_policy policies[] = {
        {.channel = "train", .kind = SW_METRICS, .consumers = consumers, .consumer_count = 1},
        {.channel = "logprobs", .kind = SW_TENSORS, .consumers = consumers, .consumer_count = 1},
    };
    const sw_attachment attachment = {
        .generation = 5, .stage = 3, .stage_count = 4, .policies = policies, .policy_count = 2};
    sw_lease *lease;
    sw_error error;
    expect_ok(sw_attach(publisher, &attachment, 0, &lease, NULL, &error), 0);
    return lease;
}

static void publish_step(sw_publisher *publisher, uint64_t step) {
    const sw_address metrics_at = {.channel = "train", .step = step};
    const sw_address tensor_at = {.channel = "logprobs", .step = step};
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer((int64_t)step)}}, 1);
    const int64_t shape[] = {TENSOR};
    const sw_named_tensor tensor = {.name = "t", .view = {SW_U8, 1, shape, tensor_bytes, TENSOR}};
    sw_error error;
    memset(tensor_bytes, (int)step, sizeof tensor_bytes);
    expect_ok(sw_publish_metrics(publisher, &metrics_at, &metrics, 0, NULL, &error), step);
    expect_ok(sw_publish_tensors(publisher, &tensor_at, &tensor, 1, 0, NULL, &error), step);
}

static void *train(void *context) {
    (void)context;
    sw_client *client = connect_to(socket_name, NULL);
    sw_publisher *publisher = sw_client_publisher(client);
    sw_lease *lease = declare(publisher);
    sw_error error;
    for (uint64_t step = 0; step < STEPS; step++) {
        if (step >= LEAD) await(&pulled, step - LEAD);
        publish_step(publisher, step);
        expect_ok(sw_lease_check(lease, &error), step);
    }
    await(&pulled, STEPS);
    await(&watched, STEPS);
    sw_lease_release(lease);
    sw_client_close(client);
    return NULL;
}

/* ---- another stage ---- */

/* What it has it releases at once, so that a drain needn't wait until it pulls from that channel again. */
static void release(sw_client *client, const char *channel, sw_item_kind kind, uint64_t step) {
    const sw_address at = {.generation = 5, .has_stage = true, .stage = 3, .channel = channel};
    sw_error error;
    expect_ok(sw_client_release(client, &at, kind, step + 1, 0, &error), step);
}

static void pull_step(sw_client *client, uint64_t step) {
    const sw_pull metrics_of = {.address = {.channel = "train", .step = step}};
    const sw_pull tensors_of = {.address = {.channel = "logprobs", .step = step}};
    sw_metrics *metrics;
    sw_tensors *tensors;
    sw_error error;
    expect_ok(sw_client_get_metrics(client, &metrics_of, &metrics, &error), step);
    cr_assert_eq(sw_dict_get(sw_metrics_value(metrics), "v")->integer, (int64_t)step);
    sw_metrics_destroy(metrics);
    release(client, "train", SW_METRICS, step);
    expect_ok(sw_client_get_tensors(client, &tensors_of, NULL, 0, &tensors, &error), step);
    const uint8_t *bytes = sw_tensors_find(tensors, "t")->data;
    cr_assert(bytes[0] == (uint8_t)step && bytes[TENSOR - 1] == (uint8_t)step);
    sw_tensors_destroy(tensors);
    release(client, "logprobs", SW_TENSORS, step);
}

static void *pull(void *context) {
    (void)context;
    sw_client *client = connect_to(tcp, "c0");
    const sw_attachment attachment = {.generation = 5, .stage = 0, .stage_count = 4};
    sw_lease *lease;
    sw_error error;
    expect_ok(sw_attach(sw_client_publisher(client), &attachment, 0, &lease, NULL, &error), 0);
    for (uint64_t step = 0; step < STEPS; step++) {
        pull_step(client, step);
        expect_ok(sw_lease_check(lease, &error), step);
        reach(&pulled, step + 1);
    }
    sw_lease_release(lease);
    sw_client_close(client);
    return NULL;
}

/* ---- a dashboard ---- */

static void *watch(void *context) {
    sw_watch *watching = context;
    sw_watch_event event;
    sw_error error;
    for (uint64_t step = 0; step < STEPS;) {
        expect_ok(sw_watch_next(watching, 30000, &event, &error), step);
        if (event.type == SW_EVENT_GENERATION) continue;
        cr_assert_eq(event.type, SW_EVENT_PUBLISHED, "%d before step %lu", (int)event.type,
                     (unsigned long)step);
        cr_assert_eq(event.address.step, step);
        cr_assert_eq(sw_dict_get(event.metrics, "v")->integer, (int64_t)step);
        reach(&watched, ++step);
    }
    return NULL;
}

Test(restart, under_load_is_nothing_but_a_retry, .timeout = 120) {
    pthread_t trainer, stage, dashboard;
    sw_watch *watching;
    sw_error error;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(socket_name, sizeof socket_name, "unix:%s/s", folder);
    strcpy(tcp, "127.0.0.1:0");
    start();
    sw_client *observer = connect_to(tcp, NULL);
    expect_ok(sw_client_watch(observer, NULL, 0, SW_WATCH_OLDEST_HELD, NULL, 0, 0, &watching, &error), 0);
    pthread_create(&trainer, NULL, train, NULL);
    pthread_create(&stage, NULL, pull, NULL);
    pthread_create(&dashboard, NULL, watch, watching);
    for (uint64_t i = 1; i <= RESTARTS; i++) {
        await(&pulled, i * STEPS_BETWEEN);
        restart();
    }
    pthread_join(stage, NULL);
    pthread_join(dashboard, NULL);
    pthread_join(trainer, NULL);
    sw_watch_close(watching);
    sw_client_close(observer);
    cr_assert_eq(daemon_stop(endpoint), 0);
    daemon_destroy(endpoint);
    rmdir(folder);
}
