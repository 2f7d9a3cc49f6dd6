/* What mTLS costs: a stream over it against plain OpenSSL with the same version and cipher, and the same
 * calls against plaintext, all on loopback.
 *
 *     bench_tls [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/malloc_settings.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/tls_identity.h"
#include "tests/support/baseline.h"
#include "tests/support/certs.h"
#include "tests/support/daemon.h"
#include "tests/support/measure.h"

#define LARGEST (256 * MIB)
#define REPEATS 16
#define CALLS   2000

struct side {
    struct daemon *daemon;
    sw_client *client, *publishing;
};

static struct side plain, secure;
static struct baseline_client *openssl;
static char *into;
static char folder[] = "/tmp/stagewire-bench-XXXXXX", files[3][64];
static int rounds;

static double pull_metrics(const struct side *side) {
    static double times[CALLS];
    const sw_pull pull = {.address = {.channel = "train", .step = 1}};
    sw_metrics *metrics;
    sw_error error;
    for (int i = 0; i < CALLS; i++) {
        double begun = bench_now_us();
        bench_must(sw_client_get_metrics(side->client, &pull, &metrics, &error), &error);
        times[i] = bench_now_us() - begun;
        sw_metrics_destroy(metrics);
    }
    return bench_quantile(times, CALLS, 0.5);
}

static int repeats_of(uint64_t size) {
    return size < 64 * MIB ? REPEATS : 2;
}

static double stream(const struct side *side, uint64_t size) {
    double times[REPEATS];
    char channel[32];
    int repeats = repeats_of(size);
    snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
    for (int i = 0; i < repeats; i++) times[i] = measure_pull(side->client, channel, into, size);
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

static void open_side(struct side *side, const char *name, bool is_secure) {
    char socket[96];
    snprintf(socket, sizeof socket, "unix:%s/%s", folder, name);
    const char *args[] = {"--listen",
                          "127.0.0.1:0",
                          "--listen",
                          socket,
                          "--run-id",
                          "bench",
                          is_secure ? "--tls-key" : NULL,
                          files[0],
                          "--tls-cert",
                          files[1],
                          "--tls-ca",
                          files[2],
                          NULL};
    sw_client_options options;
    sw_error error;
    side->daemon = daemon_start(args);
    bench_must_have(side->daemon, "stagewired");
    sw_client_options_init(&options);
    side->publishing = measure_open(daemon_target(side->daemon, 1));
    if (is_secure) options.tls_key = files[0], options.tls_cert = files[1], options.tls_ca = files[2];
    bench_must(sw_client_open(daemon_target(side->daemon, 0), &options, &side->client, &error), &error);
    measure_publish_metrics(side->publishing, 1);
    for (uint64_t size = 4 * MIB; size <= LARGEST; size *= 8) {
        char channel[32];
        snprintf(channel, sizeof channel, "stream/%d", (int)(size / MIB));
        measure_publish(side->publishing, channel, into, size);
    }
}

static void close_side(struct side *side, const char *name) {
    char path[96];
    sw_client_close(side->client);
    sw_client_close(side->publishing);
    daemon_stop(side->daemon);
    daemon_destroy(side->daemon);
    snprintf(path, sizeof path, "%s/%s.lock", folder, name);
    unlink(path);
}

static void make_files(void) {
    static const char *const names[] = {"tls.key", "tls.crt", "ca.crt"};
    struct cert *ca = cert_ca("ca"), *leaf = cert_leaf(ca, NULL);
    bench_must_have(mkdtemp(folder), folder);
    for (size_t i = 0; i < 3; i++) snprintf(files[i], sizeof files[i], "%s/%s", folder, names[i]);
    cert_write_folder(folder, leaf, ca);
    cert_free(leaf);
    cert_free(ca);
}

int main(int argc, char **argv) {
    rounds = bench_rounds(argc, argv);
    malloc_keep_for_streams();
    make_files();
    struct baseline server = {BASELINE_TLS, .folder = folder, .largest_answer = LARGEST};
    baseline_start(&server);
    openssl = baseline_connect(&server);
    tls_keep_openssl();
    grpc_compat_tls13_only();
    into = calloc(1, LARGEST);
    bench_must_have(into, "calloc");
    open_side(&plain, "plain", false);
    open_side(&secure, "secure", true);
    compare_calls();
    for (uint64_t size = 4 * MIB; size <= LARGEST; size *= 8) compare_streams(size);
    close_side(&plain, "plain");
    close_side(&secure, "secure");
    baseline_close(openssl);
    baseline_stop(&server);
    for (size_t i = 0; i < 3; i++) unlink(files[i]);
    rmdir(folder);
    return 0;
}
