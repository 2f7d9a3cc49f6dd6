#include "client/cli/demo/links.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/demo/channels.h"
#include "proto/base/clock.h"
#include "proto/base/error.h"

#define TENSOR_NAME       "values"
#define END_WAIT_MS       600000
#define FAILURE_LINGER_MS 300
#define RELEASE_MS        1000
#define BETTER_REASON_MS  1000

static sw_status open_endpoint(struct links *links, const char *listen, sw_error *error) {
    sw_endpoint_options options;
    sw_endpoint_options_init(&options);
    options.listen = &listen;
    options.listen_count = 1;
    options.run_id = LINKS_RUN_ID;
    options.stage = links->stage;
    options.stage_count = links->stages;
    options.publisher_grace_ms = LINKS_GRACE_MS;
    options.drain_grace_ms = LINKS_LINGER_MS;
    return sw_endpoint_open(&options, &links->endpoint, error);
}

/* What this stage publishes, and which neighbour must have pulled it before it may go. */
static uint32_t make_policies(const struct links *links, const char *before[1], const char *after[1],
                              sw_channel_policy policies[3]) {
    uint32_t count = 0;
    if (links->stage + 1 < links->stages) {
        policies[count++] = (sw_channel_policy){
            .channel = CHANNEL_ACTIVATIONS, .kind = SW_TENSORS, .consumers = after, .consumer_count = 1};
        policies[count++] = (sw_channel_policy){
            .channel = CHANNEL_EVALUATION, .kind = SW_TENSORS, .consumers = after, .consumer_count = 1};
    }
    if (links->stage > 0)
        policies[count++] = (sw_channel_policy){
            .channel = CHANNEL_GRADIENTS, .kind = SW_TENSORS, .consumers = before, .consumer_count = 1};
    return count;
}

static void consumer_name(unsigned stage, char text[32]) {
    snprintf(text, 32, "stage-%u", stage);
}

static sw_status attach(struct links *links, sw_error *error) {
    char before[32], after[32];
    consumer_name(links->stage - 1, before);
    consumer_name(links->stage + 1, after);
    sw_channel_policy policies[3];
    uint32_t count = make_policies(links, (const char *[]){before}, (const char *[]){after}, policies);
    sw_attachment attachment = {.run_id = LINKS_RUN_ID,
                                .generation = LINKS_GENERATION,
                                .stage = links->stage,
                                .stage_count = links->stages,
                                .policies = policies,
                                .policy_count = count};
    uint64_t generation;
    return sw_attach(sw_endpoint_publisher(links->endpoint), &attachment, LINKS_TIMEOUT_MS, &links->lease,
                     &generation, error);
}

sw_status links_serve(struct links *links, unsigned stage, unsigned stages, const char *listen,
                      sw_error *error) {
    *links = (struct links){.stage = stage, .stages = stages};
    sw_status status = open_endpoint(links, listen, error);
    return status == SW_OK ? attach(links, error) : status;
}

/* Also reaches it: only an endpoint that was reached once can be lost. */
static sw_status open_client(const struct links *links, const char *endpoint, sw_client **ret_client,
                             sw_error *error) {
    char consumer[32];
    consumer_name(links->stage, consumer);
    sw_client_options options;
    sw_client_options_init(&options);
    options.run_id = LINKS_RUN_ID;
    options.consumer_id = consumer;
    options.timeout_ms = LINKS_TIMEOUT_MS;
    options.endpoint_grace_ms = LINKS_GRACE_MS;
    sw_status status = sw_client_open(endpoint, &options, ret_client, error);
    if (status != SW_OK) return status;
    sw_info *info;
    status = sw_client_info(*ret_client, 0, &info, error);
    if (status == SW_OK) sw_info_destroy(info);
    return status;
}

static sw_address address_of(unsigned stage, const char *channel, uint64_t step, unsigned call) {
    return (sw_address){.run_id = LINKS_RUN_ID,
                        .generation = LINKS_GENERATION,
                        .has_stage = true,
                        .stage = stage,
                        .channel = channel,
                        .step = step,
                        .call = call};
}

static sw_status start_waiting_for_end(struct links *links, sw_error *error) {
    sw_pull pull = {.address = address_of(links->stages - 1, CHANNEL_END, 0, 0), .timeout_ms = END_WAIT_MS};
    return sw_client_start_metrics(links->last, &pull, &links->end, error);
}

sw_status links_connect(struct links *links, char (*endpoints)[REPORT_ENDPOINT_MAX], sw_error *error) {
    unsigned last = links->stages - 1;
    sw_status status = SW_OK;
    if (links->stage > 0) status = open_client(links, endpoints[links->stage - 1], &links->before, error);
    if (status == SW_OK && links->stage < last)
        status = open_client(links, endpoints[links->stage + 1], &links->after, error);
    if (status == SW_OK && links->stage < last)
        status = open_client(links, endpoints[last], &links->last, error);
    return status == SW_OK && links->last ? start_waiting_for_end(links, error) : status;
}

sw_status links_publish(struct links *links, const char *channel, uint64_t step, unsigned call,
                        const float *values, size_t rows, size_t columns, sw_error *error) {
    int64_t shape[2] = {(int64_t)rows, (int64_t)columns};
    size_t size = rows * columns * sizeof *values;
    sw_named_tensor tensor = {.name = TENSOR_NAME, .view = {SW_F32, 2, shape, values, size}};
    sw_address address = address_of(links->stage, channel, step, call);
    links->traffic.published_bytes += size;
    return sw_publish_tensors(sw_endpoint_publisher(links->endpoint), &address, &tensor, 1, LINKS_TIMEOUT_MS,
                              NULL, error);
}

/* Takes the answer of the pull for the end: nothing more to wait for, to be asked again, or why it won't
 * come. */
static sw_status take_end(struct links *links, sw_error *error) {
    sw_metrics *metrics = NULL;
    sw_status status = sw_call_finish_metrics(links->end, &metrics, error);
    sw_call_destroy(links->end);
    links->end = NULL;
    sw_metrics_destroy(metrics);
    return status == SW_DEADLINE_EXCEEDED ? start_waiting_for_end(links, error) : status;
}

/* Until `call` (NULL: none) is over, or the last stage is lost, or `timeout_ms` (-1: none) have passed. */
static sw_status await(struct links *links, sw_call *call, int timeout_ms, sw_error *error) {
    while (!call || !sw_call_done(call)) {
        struct pollfd descriptors[2] = {
            {.fd = call ? sw_call_fd(call) : -1, .events = POLLIN},
            {.fd = links->end ? sw_call_fd(links->end) : -1, .events = POLLIN},
        };
        int ready = poll(descriptors, 2, timeout_ms);
        if (ready == 0) return SW_OK;
        if (ready < 0 && errno != EINTR)
            return error_set_code(error, SW_INTERNAL, SW_REASON_NONE, "poll: %s", strerror(errno));
        if (descriptors[1].revents == 0) continue;
        sw_status status = take_end(links, error);
        if (status != SW_OK) return status;
    }
    return SW_OK;
}

/* A neighbour that gave up may have done so because the last stage is lost, which this one is about to find,
 * too: that is then the better reason. */
static sw_status explain(struct links *links, sw_error *error) {
    sw_error better;
    if (error->reason != SW_REASON_PUBLISHER_ABORTED || !links->end) return error->code;
    if (await(links, NULL, BETTER_REASON_MS, &better) != SW_OK) *error = better;
    return error->code;
}

static sw_status finish(struct links *links, sw_call *call, int64_t started, size_t size, sw_error *error) {
    sw_status status = await(links, call, -1, error);
    if (status != SW_OK) return status;
    sw_tensors *tensors;
    status = sw_call_finish_tensors(call, &tensors, error);
    if (status != SW_OK) return explain(links, error);
    links_count_pull(links, started, sw_tensors_published_unix_ns(tensors), size);
    sw_tensors_destroy(tensors);
    return SW_OK;
}

sw_status links_pull(struct links *links, enum links_side side, const char *channel, uint64_t step,
                     unsigned call, float *values, size_t rows, size_t columns, sw_error *error) {
    unsigned owner = side == LINKS_BEFORE ? links->stage - 1 : links->stage + 1;
    sw_tensor_request request = {TENSOR_NAME, values, rows * columns * sizeof *values};
    sw_pull pull = {.address = address_of(owner, channel, step, call)};
    sw_call *under_way;
    int64_t started = links_now_unix_ns();
    sw_status status = sw_client_start_tensors(side == LINKS_BEFORE ? links->before : links->after, &pull,
                                               &request, 1, &under_way, error);
    if (status != SW_OK) return status;
    status = finish(links, under_way, started, request.into_size, error);
    sw_call_destroy(under_way);
    return status;
}

int64_t links_now_unix_ns(void) {
    return clock_system.unix_ns(clock_system.context);
}

void links_count_pull(struct links *links, int64_t started_unix_ns, int64_t published_unix_ns, size_t bytes) {
    int64_t since = published_unix_ns > started_unix_ns ? published_unix_ns : started_unix_ns;
    latency_add(&links->latency, links_now_unix_ns() - since);
    links->traffic.pulls++;
    links->traffic.pulled_bytes += bytes;
}

struct report_traffic links_traffic(const struct links *links) {
    struct report_traffic traffic = links->traffic;
    traffic.p50_ns = latency_percentile_ns(&links->latency, 0.5);
    traffic.p99_ns = latency_percentile_ns(&links->latency, 0.99);
    return traffic;
}

sw_status links_announce_end(struct links *links, sw_error *error) {
    sw_value nothing = sw_dict(NULL, 0);
    sw_address address = address_of(links->stage, CHANNEL_END, 0, 0);
    return sw_publish_metrics(sw_endpoint_publisher(links->endpoint), &address, &nothing, LINKS_TIMEOUT_MS,
                              NULL, error);
}

sw_status links_await_end(struct links *links, sw_error *error) {
    sw_status status = SW_OK;
    while (links->end && status == SW_OK) status = take_end(links, error);
    return status;
}

static void release(sw_client *client, unsigned owner, const char *channel) {
    sw_address address = address_of(owner, channel, 0, 0);
    sw_client_release(client, &address, SW_TENSORS, SW_STEP_MAX, RELEASE_MS, NULL);
}

void links_abort(struct links *links, const sw_error *failure) {
    if (!links->endpoint) return;
    char message[SW_ERROR_MESSAGE_MAX + 64];
    sw_address address = address_of(links->stage, NULL, 0, 0);
    snprintf(message, sizeof message, "stage %u ended early: %s", links->stage, failure->message);
    sw_close_channel(sw_endpoint_publisher(links->endpoint), &address, SW_TENSORS, true, SW_CLOSE_ABORTED,
                     message, RELEASE_MS, NULL);
}

static void release_all(struct links *links) {
    if (links->before) {
        release(links->before, links->stage - 1, CHANNEL_ACTIVATIONS);
        release(links->before, links->stage - 1, CHANNEL_EVALUATION);
    }
    if (links->after) release(links->after, links->stage + 1, CHANNEL_GRADIENTS);
}

void links_close(struct links *links, bool done) {
    if (done) release_all(links);
    sw_call_destroy(links->end);
    sw_client_close(links->before);
    sw_client_close(links->after);
    sw_client_close(links->last);
    sw_lease_release(links->lease);
    sw_endpoint_close(links->endpoint, done ? LINKS_LINGER_MS : FAILURE_LINGER_MS);
    *links = (struct links){0};
}
