/* Publishing never waits for a consumer, memory stays within the budget, and clients that go leave nothing
 * behind. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "tests/support/scene.h"
#include "tests/support/test.h"

#define UNIT  (512u << 10)
#define STEPS 200

static struct scene s;

static void close_scene(void) {
    scene_close(&s);
}
static void open_scene(void) {
    scene_open(&s, "--store-bytes", "16m", NULL);
}

TestSuite(publishing, .init = open_scene, .fini = close_scene, .timeout = 120);

static int64_t publish_steps(const char *channel) {
    int64_t begun = clock_now_ms(&clock_system);
    for (uint64_t step = 0; step < STEPS; step++) {
        scene_publish_tensor(&s, AT(channel, step), 2 * UNIT, (uint8_t)step);
        expect_ok(&s);
    }
    return clock_now_ms(&clock_system) - begun;
}

static struct raw_call *stream(struct raw *raw, const char *channel) {
    sw_buffer *request;
    struct pull_request pull = {.address = AT(channel, 0)};
    cr_assert(stream_tensors_request_encode(&pull, &request, NULL) == SW_OK);
    return raw_start(raw, RAW_STAGE("StreamTensors"), request, true, 60000);
}

static bool within_budget(const struct stage_info *info) {
    return info->held_bytes <= info->store_bytes;
}

static bool quiet(const struct stage_info *info) {
    return info->load.streams == 0 && info->load.waiting == 0 && info->load.open_calls == 1;
}

Test(publishing, two_hundred_steps_take_the_same_time_with_no_consumer_and_with_one_that_stalls) {
    publish_steps("warm-up");
    int64_t alone = publish_steps("alone");
    scene_publish_tensor(&s, AT("stalled", 0), 12u << 20, 1);
    struct raw_call *stalled = stream(s.raw, "stalled");
    sw_buffer_unref(raw_read(stalled));
    int64_t beside = publish_steps("beside-a-stalled-one");
    cr_assert(beside < 3 * alone + 1000, "alone %d ms, beside a consumer that reads nothing %d ms",
              (int)alone, (int)beside);
    cr_assert(scene_until(&s, within_budget));
    raw_cancel(stalled);
    raw_finish(stalled, NULL);
    cr_assert(scene_until(&s, quiet), "the stream has ended");
}

/* A process that waits for a step that does not come. */
static pid_t consumer_process(const char *target, const char *channel) {
    pid_t child = fork();
    if (child == 0) {
        execl(STAGEWIRE_CLI, "stagewire", "get", target, channel, "7", "--timeout", "60s", (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool one_waits(const struct stage_info *info) {
    return info->load.waiting == 1;
}

static bool none_waits(const struct stage_info *info) {
    return info->load.waiting == 0 && info->load.open_calls == 1;
}

Test(publishing, a_client_that_is_killed_leaves_no_call_and_no_waiter) {
    pid_t child = consumer_process(daemon_target(s.daemon, 0), "train");
    cr_assert(scene_until(&s, one_waits), "it waits");
    int64_t beside = publish_steps("logits");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_assert(scene_until(&s, none_waits), "nothing of it is left; publishing took %d ms", (int)beside);
}

Test(publishing, a_stream_goes_on_from_the_memory_it_holds_whatever_is_evicted) {
    scene_publish_tensor(&s, AT("logits", 0), 12u << 20, 7);
    struct raw_call *reading = stream(s.raw, "logits");
    sw_buffer *message = raw_read(reading);
    cr_assert_not_null(message);
    sw_buffer_unref(message);
    for (uint64_t step = 1; step < 20; step++) {
        scene_publish_tensor(&s, AT("logits", step), 2 * UNIT, 9);
        expect_ok(&s);
    }
    uint64_t bytes = 0;
    while ((message = raw_read(reading))) {
        const uint8_t *data = sw_buffer_data(message);
        cr_assert_eq(data[sw_buffer_size(message) - 1], 7);
        bytes += sw_buffer_size(message);
        sw_buffer_unref(message);
    }
    cr_assert(raw_finish(reading, &s.error) == SW_OK, "%s", s.error.message);
    cr_assert(bytes >= 12u << 20);
}
