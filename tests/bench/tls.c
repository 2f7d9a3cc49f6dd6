/* What mTLS costs: a stream over it against plain OpenSSL with the same version and cipher, and the same
 * calls against plaintext, all on loopback.
 *
 *     bench_tls [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "proto/base/malloc_settings.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/tls_identity.h"
#include "tests/support/baseline.h"
#include "tests/support/endpoint.h"
#include "tests/support/folder.h"
#include "tests/support/measure.h"

#define LARGEST (256 * MIB)
#define REPEATS 16
#define CALLS   2000

static struct endpoint plain, secure;
static struct baseline_client *openssl;
static char *into;
static int rounds;

static double pull_metrics(const struct endpoint *side) {
    static double times[CALLS];
    const sw_pull pull = {.address = {.channel = "train", .step = 1}};
    sw_metrics *metrics;
    sw_error error;
    for (int i = 0; i < CALLS; i++) {
        double begun = bench_now_us();
        bench_must(sw_client_get_metrics(side->tcp, &pull, &metrics, &error), &error);
        times[i] = bench_now_us() - begun;
        sw_metrics_destroy(metrics);
    }
    return bench_quantile(times, CALLS, 0.5);
}

static int repeats_of(uint64_t size) {
    return size < 64 * MIB ? REPEATS : 2;
}

static double stream(const struct endpoint *side, uint64_t size) {
    double times[REPEATS];
    char channel[32];
    int repeats = repeats_of(size);
    snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
    for (int i = 0; i < repeats; i++) times[i] = measure_pull(side->tcp, channel, into, size);
    return bench_rate(size, bench_quantile(times, (size_t)repeats, 0.5));
}

static double raw_stream(uint64_t size) {
    double times[REPEATS];
    int repeats = repeats_of(size);
    for (int i = 0; i < repeats; i++) times[i] = baseline_ask(openssl, into, size);
    return bench_rate(size, bench_quantile(times, (size_t)repeats, 0.5));
}

static void compare_calls(void) {
    struct row row = {"pull of 20 metrics, mTLS", "us", "plaintext", .less_is_better = true};
    pull_metrics(&plain), pull_metrics(&secure);
    for (int i = 0; i < rounds; i++) {
        double base = pull_metrics(&plain);
        row_add(&row, base, pull_metrics(&secure));
    }
    row_print(&row);
}

static void compare_streams(uint64_t size) {
    char name[64];
    snprintf(name, sizeof name, "stream of %d MiB, mTLS", (int)(size / MIB));
    struct row of_openssl = {name, "GB/s", "plain OpenSSL", .reach.ratio = 0.95};
    struct row of_plaintext = {name, "GB/s", .against = "plaintext"};
    raw_stream(size), stream(&plain, size), stream(&secure, size);
    for (int i = 0; i < rounds; i++) {
        double base = raw_stream(size), ours = stream(&secure, size);
        row_add(&of_openssl, base, ours);
        row_add(&of_plaintext, stream(&plain, size), ours);
    }
    row_print(&of_openssl);
    row_print(&of_plaintext);
}

/* ---- two daemons ---- */

static void open_side(struct endpoint *side, const char *certs) {
    side->certs = certs;
    endpoint_start(side);
    endpoint_connect(side);
    measure_publish_metrics(side->local, 1);
    for (uint64_t size = 4 * MIB; size <= LARGEST; size *= 8) {
        char channel[32];
        snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
        measure_publish(side->local, channel, into, size);
    }
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    malloc_keep_for_streams();
    char certs[] = "/tmp/stagewire-bench-XXXXXX";
    endpoint_make_certs(certs);
    struct baseline server = {BASELINE_TLS, .folder = certs, .largest_answer = LARGEST};
    baseline_start(&server);
    openssl = baseline_connect(&server);
    tls_keep_openssl();
    grpc_compat_tls13_only();
    into = calloc(1, LARGEST);
    bench_must_have(into, "calloc");
    open_side(&plain, NULL);
    open_side(&secure, certs);
    compare_calls();
    for (uint64_t size = 4 * MIB; size <= LARGEST; size *= 8) compare_streams(size);
    endpoint_stop(&plain);
    endpoint_stop(&secure);
    baseline_close(openssl);
    baseline_stop(&server);
    folder_remove(certs);
    return 0;
}
