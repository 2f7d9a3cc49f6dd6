/* What an endpoint does while it hashes a large step that was handed over as memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <stagewire/client.h>

#include "tests/support/client.h"
#include "tests/support/test.h"

static struct bench b;
static sw_client *beside; /* over the Unix socket, where memory is handed over */

static void open_all(void) {
    bench_open(&b, NULL);
    beside = bench_client_of(&b, b.socket, 30000);
}

static void close_all(void) {
    sw_client_close(beside);
    bench_close(&b);
}

TestSuite(hashing, .init = open_all, .fini = close_all, .timeout = 120);

enum { LARGE = 256 << 20 };

struct large_publish {
    sw_buffer *buffer;
    uint64_t step;
    int64_t took_us;
    atomic_bool is_over;
};

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *publish_large(void *context) {
    struct large_publish *large = context;
    const int64_t shape[] = {LARGE};
    const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, NULL, 0}, large->buffer};
    const sw_address address = {.channel = "large", .step = large->step};
    int64_t begun_us = now_us();
    bench_ok(&b, sw_publish_tensors(sw_client_publisher(beside), &address, &tensor, 1, 0, NULL, &b.error));
    large->took_us = now_us() - begun_us;
    large->is_over = true;
    return NULL;
}

static int64_t longest_pull_us(const struct large_publish *large) {
    const sw_pull asked = {.address = {.channel = "train", .step = 1}};
    int64_t longest_us = 0;
    while (!large->is_over) {
        sw_metrics *metrics;
        sw_error error;
        int64_t begun_us = now_us();
        cr_assert_eq(sw_client_get_metrics(b.client, &asked, &metrics, &error), SW_OK, "%s", error.message);
        int64_t took_us = now_us() - begun_us;
        if (took_us > longest_us) longest_us = took_us;
        sw_metrics_destroy(metrics);
    }
    return longest_us;
}

/* On a busy machine a pull may wait for other reasons, so it is most of them that count. */
Test(hashing, pulls_are_answered_while_a_large_step_is_hashed) {
    bench_publish(&b, "train", 1, 1);
    int lead = 0;
    for (uint64_t step = 1; step <= 20 && lead < 3; step++) {
        struct large_publish large = {.step = step};
        pthread_t publisher;
        void *data;
        bench_ok(&b, sw_buffer_create(LARGE, &large.buffer, &data, &b.error));
        memset(data, (int)step, LARGE);
        cr_assert_eq(pthread_create(&publisher, NULL, publish_large, &large), 0);
        int64_t longest_us = longest_pull_us(&large);
        pthread_join(publisher, NULL);
        sw_buffer_unref(large.buffer);
        lead += longest_us < large.took_us / 4 ? 1 : -1;
    }
    cr_assert_eq(lead, 3);
}
