#include "tests/support/scene.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "proto/wire/chunk.h"
#include "proto/wire/value_codec.h"
#include "tests/support/test.h"

#define CALL_MS 20000

void scene_open(struct scene *scene, ...) {
    const char *args[48] = {"--listen", "127.0.0.1:0", "--run-id",
                            "run-a",    "--stage",     "3",
                            "--stages", "4",           "--publish-on-loopback"};
    size_t count = 9;
    va_list more;
    va_start(more, scene);
    for (const char *arg; (arg = va_arg(more, const char *));) args[count++] = arg;
    va_end(more);
    *scene = (struct scene){.daemon = daemon_start(args)};
    cr_assert_not_null(scene->daemon, "stagewired did not come up");
    scene->raw = raw_open(daemon_target(scene->daemon, 0));
}

void scene_close(struct scene *scene) {
    raw_close(scene->raw);
    daemon_destroy(scene->daemon);
}

static struct arena new_arena(void) {
    struct arena arena;
    arena_init(&arena, &allocator_system, LIMIT_DECODE_BYTES);
    return arena;
}

static void must(sw_status status, const sw_error *error) {
    cr_assert(status == SW_OK, "cannot make the request: %s", error->message);
}

/* A unary call whose answer is of no interest, or says whether it was a duplicate. */
static sw_status call(struct scene *scene, const char *method, sw_buffer *request, bool is_publish) {
    sw_buffer *response = NULL;
    sw_status status = raw_unary(scene->raw, method, request, CALL_MS, &response, &scene->error);
    scene->duplicate = false;
    if (status == SW_OK && is_publish)
        must(published_response_decode(sw_buffer_data(response), sw_buffer_size(response), &scene->duplicate,
                                       &scene->error),
             &scene->error);
    if (status == SW_OK) sw_buffer_unref(response);
    return status;
}

sw_status scene_publish_value(struct scene *scene, sw_address at, const sw_value *metrics) {
    sw_buffer *bytes, *request;
    sw_error error;
    must(metrics_encode(metrics, true, &bytes, NULL, &error), &error);
    must(publish_metrics_request_encode(&at, bytes, &request, &error), &error);
    sw_buffer_unref(bytes);
    return call(scene, RAW_PUBLISHER("PublishLossMetrics"), request, true);
}

sw_status scene_publish(struct scene *scene, sw_address at, int64_t value) {
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer(value)}}, 1);
    return scene_publish_value(scene, at, &metrics);
}

sw_status scene_fail(struct scene *scene, sw_address at, sw_item_kind kind, const char *message) {
    sw_buffer *request;
    sw_error error;
    must(publish_failure_request_encode(
             &(struct publish_failure_request){.address = at, .kind = kind, .message = message}, &request,
             &error),
         &error);
    return call(scene, RAW_PUBLISHER("PublishFailure"), request, true);
}

sw_status scene_close_channel(struct scene *scene, sw_address at, sw_item_kind kind, bool all,
                              sw_close_reason reason, const char *message) {
    struct close_channel_request close = {at, kind, all, reason, message};
    sw_buffer *request;
    sw_error error;
    must(close_channel_request_encode(&close, &request, &error), &error);
    return call(scene, RAW_PUBLISHER("CloseChannel"), request, false);
}

sw_status scene_release(struct scene *scene, sw_address at, sw_item_kind kind, const char *consumer,
                        uint64_t below) {
    struct consumer_request consumers[] = {{.id = consumer, .release_below = below}};
    struct release_request release = {
        .address = at, .kind = kind, .consumers = consumers, .consumer_count = 1};
    sw_buffer *request;
    sw_error error;
    must(release_request_encode(&release, &request, &error), &error);
    return call(scene, RAW_STAGE("Release"), request, false);
}

sw_buffer *scene_manifest(sw_address at, uint64_t size) {
    const int64_t shape[] = {(int64_t)size};
    const struct tensor_info info = {
        .name = "t", .dtype = SW_U8, .rank = 1, .shape = shape, .byte_length = size};
    const struct manifest manifest = {.address = at, .tensor_count = 1, .tensors = &info};
    sw_buffer *message;
    sw_error error;
    must(manifest_encode(&manifest, &message, &error), &error);
    return message;
}

sw_buffer *scene_chunk(uint64_t block, uint64_t size, uint8_t fill, uint64_t xxh3) {
    const struct chunk_header header = {.tensor = 0, .block = block, .xxh3 = xxh3, .size = size};
    uint8_t head[CHUNK_HEADER_MAX];
    size_t head_size = chunk_encode_header(&header, head);
    sw_buffer *message;
    void *data;
    cr_assert(sw_buffer_create(head_size + size, &message, &data, NULL) == SW_OK);
    memcpy(data, head, head_size);
    memset((char *)data + head_size, fill, size);
    return message;
}

struct raw_call *scene_start_tensor(struct scene *scene, sw_address at, uint64_t size) {
    return raw_start(scene->raw, RAW_PUBLISHER("PublishTensors"), scene_manifest(at, size), false, CALL_MS);
}

sw_status scene_publish_tensor(struct scene *scene, sw_address at, uint64_t size, uint8_t fill) {
    struct raw_call *publish = scene_start_tensor(scene, at, size);
    uint64_t blocks = tensor_blocks(size, LIMIT_BLOCK_BYTES);
    bool alive = true;
    for (uint64_t block = 0; alive && block < blocks; block++)
        alive =
            raw_send(publish, scene_chunk(block, tensor_block_size(size, LIMIT_BLOCK_BYTES, block), fill, 0));
    raw_half_close(publish);
    sw_buffer *response = raw_read(publish);
    sw_status status = raw_finish(publish, &scene->error);
    if (status == SW_OK)
        published_response_decode(sw_buffer_data(response), sw_buffer_size(response), &scene->duplicate,
                                  NULL);
    sw_buffer_unref(response);
    return status;
}

static sw_status read_metrics(struct scene *scene, sw_buffer *response, int64_t *ret_value) {
    struct arena arena = new_arena();
    struct metrics_response metrics;
    must(metrics_response_decode(sw_buffer_data(response), sw_buffer_size(response), &arena, &metrics,
                                 &scene->error),
         &scene->error);
    const sw_value *value = sw_dict_get(metrics.metrics, "v");
    if (ret_value && value) *ret_value = value->integer;
    arena_destroy(&arena);
    return SW_OK;
}

static struct raw_call *start_pull(struct scene *scene, const struct pull_request *pull, int64_t timeout_ms) {
    sw_buffer *request;
    sw_error error;
    must(get_metrics_request_encode(pull, &request, &error), &error);
    return raw_start(scene->raw, RAW_STAGE("GetLossMetrics"), request, true, timeout_ms);
}

struct raw_call *scene_start_get(struct scene *scene, sw_address at, int64_t timeout_ms) {
    return start_pull(scene, &(struct pull_request){.address = at}, timeout_ms);
}

sw_status scene_finish_get(struct scene *scene, struct raw_call *pull, int64_t *ret_value) {
    sw_buffer *response = raw_read(pull);
    sw_status status = raw_finish(pull, &scene->error);
    if (status == SW_OK) read_metrics(scene, response, ret_value);
    sw_buffer_unref(response);
    return status;
}

sw_status scene_pull_metrics(struct scene *scene, const struct pull_request *request, int64_t *ret_value) {
    return scene_finish_get(scene, start_pull(scene, request, CALL_MS), ret_value);
}

sw_status scene_get(struct scene *scene, sw_address at, int64_t *ret_value) {
    return scene_pull_metrics(scene, &(struct pull_request){.address = at, .wait.no_wait = true}, ret_value);
}

static void take_manifest(sw_buffer *message, struct scene_tensor *ret) {
    struct arena arena = new_arena();
    struct manifest manifest;
    sw_error error;
    must(manifest_decode(sw_buffer_data(message), sw_buffer_size(message), &arena, &manifest, &error),
         &error);
    *ret = (struct scene_tensor){.pin = manifest.pin,
                                 .generation = manifest.address.generation,
                                 .size = manifest.tensors[0].byte_length};
    ret->bytes = calloc(1, ret->size + 1);
    arena_destroy(&arena);
}

static void take_chunk(sw_buffer *message, struct scene_tensor *tensor) {
    const struct chunk_piece piece = {sw_buffer_data(message), sw_buffer_size(message)};
    enum chunk_part part;
    struct chunk_view view;
    sw_error error;
    must(chunk_parse(&piece, 1, &part, &view, &error), &error);
    uint64_t offset = view.header.block * LIMIT_BLOCK_BYTES;
    cr_assert(part == CHUNK_CHUNK && view.header.tensor == 0 && offset + view.header.size <= tensor->size,
              "a chunk outside the tensor");
    chunk_copy_payload(&piece, 1, &view, tensor->bytes + offset, tensor->size);
    cr_assert(block_hash(tensor->bytes + offset, view.header.size) == view.header.xxh3,
              "a block's hash is wrong");
}

sw_status scene_stream(struct scene *scene, const struct pull_request *pull, struct scene_tensor *ret) {
    sw_buffer *request, *message;
    sw_error error;
    must(stream_tensors_request_encode(pull, &request, &error), &error);
    struct raw_call *stream = raw_start(scene->raw, RAW_STAGE("StreamTensors"), request, true, CALL_MS);
    struct scene_tensor tensor = {0};
    for (bool first = true; (message = raw_read(stream)); first = false) {
        if (first)
            take_manifest(message, &tensor);
        else
            take_chunk(message, &tensor);
        sw_buffer_unref(message);
    }
    sw_status status = raw_finish(stream, &scene->error);
    if (status == SW_OK)
        *ret = tensor;
    else
        free(tensor.bytes);
    return status;
}

sw_status scene_get_tensor(struct scene *scene, sw_address at, struct scene_tensor *ret) {
    return scene_stream(scene, &(struct pull_request){.address = at, .wait.no_wait = true}, ret);
}

static struct raw_call *attach(struct scene *scene, const sw_attachment *attachment) {
    sw_buffer *request;
    sw_error error;
    must(attach_request_encode(attachment, &request, &error), &error);
    struct raw_call *lease = raw_start(scene->raw, RAW_STAGE("Attach"), request, true, 600000);
    sw_buffer *response = raw_read(lease);
    if (!response) {
        raw_finish(lease, &scene->error);
        return NULL;
    }
    sw_buffer_unref(response);
    return lease;
}

struct raw_call *scene_attach(struct scene *scene, uint64_t generation, const sw_channel_policy *policies,
                              uint32_t count) {
    return attach(scene, &(sw_attachment){.generation = generation,
                                          .stage = 3,
                                          .stage_count = 4,
                                          .policies = policies,
                                          .policy_count = count});
}

struct raw_call *scene_attach_stage(struct scene *scene, uint32_t stage, uint64_t generation) {
    return attach(scene, &(sw_attachment){.generation = generation, .stage = stage, .stage_count = 4});
}

void scene_detach(struct raw_call *lease) {
    raw_cancel(lease);
    raw_finish(lease, NULL);
}

sw_channel_policy scene_policy(const char *channel, sw_item_kind kind, uint32_t keep) {
    static const char *const consumers[] = {"c0"};
    return (sw_channel_policy){
        .channel = channel, .kind = kind, .keep_steps = keep, .consumers = consumers, .consumer_count = 1};
}

static bool info_shows(struct scene *scene, bool (*reached)(const struct stage_info *)) {
    sw_buffer *request, *response;
    sw_error error;
    must(stage_info_request_encode(NULL, &request, &error), &error);
    must(raw_unary(scene->raw, RAW_STAGE("GetStageInfo"), request, CALL_MS, &response, &error), &error);
    struct arena arena = new_arena();
    struct stage_info info;
    must(stage_info_decode(sw_buffer_data(response), sw_buffer_size(response), &arena, &info, &error),
         &error);
    bool shows = reached(&info);
    arena_destroy(&arena);
    sw_buffer_unref(response);
    return shows;
}

/* Asking takes a round trip each time, so this loop waits for the endpoint and not for time to pass. */
bool scene_until(struct scene *scene, bool (*reached)(const struct stage_info *)) {
    int64_t end = clock_now_ms(&clock_system) + 10000;
    do {
        if (info_shows(scene, reached)) return true;
    } while (clock_now_ms(&clock_system) < end);
    return false;
}

void scene_drain(struct scene *scene) {
    daemon_signal(scene->daemon, SIGTERM);
    int64_t end = clock_now_ms(&clock_system) + 10000;
    do {
        scene_publish(scene, AT("drain-probe", 0), 0);
    } while (scene->error.reason != SW_REASON_SHUTTING_DOWN && clock_now_ms(&clock_system) < end);
    cr_assert(scene->error.reason == SW_REASON_SHUTTING_DOWN, "the daemon does not drain");
}

static bool one_is_open(const struct stage_info *info) {
    return info->load.open_publishes == 1;
}

struct raw_call *scene_open_tensor(struct scene *scene, sw_address at, uint64_t size) {
    struct raw_call *publish = scene_start_tensor(scene, at, size);
    cr_assert(scene_until(scene, one_is_open), "the publish does not open");
    return publish;
}

static bool one_waits(const struct stage_info *info) {
    return info->load.waiting == 1;
}

struct raw_call *scene_waiting_get(struct scene *scene, sw_address at) {
    struct raw_call *pull = scene_start_get(scene, at, CALL_MS);
    cr_assert(scene_until(scene, one_waits), "the pull does not wait");
    return pull;
}
