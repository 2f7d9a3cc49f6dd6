/* What mTLS costs: latency and throughput of a pull over it as ratios to plaintext in the same run, both
 * alternating, each against a daemon of its own on loopback. Prints a row a measure. Asserts nothing.
 *
 *     bench_mtls [ROUNDS]      5 rounds by default
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stagewire/client.h>

#include "proto/base/malloc_settings.h"
#include "proto/transport/grpc_compat.h"
#include "proto/transport/tls_identity.h"
#include "tests/support/bench_rows.h"
#include "tests/support/certs.h"
#include "tests/support/daemon.h"

#define MIB     (1ull << 20)
#define LARGEST (256 * MIB)
#define CALLS   2000

struct side {
    struct daemon *daemon;
    sw_client *client, *publishing;
};

static struct side plain, secure;
static char *into;
static char folder[] = "/tmp/stagewire-bench-XXXXXX", files[3][64];

/* ---- measures ---- */

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

static uint64_t stream_bytes;

static double stream(const struct side *side) {
    char channel[32];
    snprintf(channel, sizeof channel, "stream/%d", (int)(stream_bytes / MIB));
    const sw_pull pull = {.address = {.channel = channel}};
    const sw_tensor_request request = {"t", into, stream_bytes};
    sw_tensors *tensors;
    sw_error error;
    int repeat = stream_bytes < 64 * MIB ? 16 : 4;
    double begun = bench_now_us();
    for (int i = 0; i < repeat; i++) {
        bench_must(sw_client_get_tensors(side->client, &pull, &request, 1, &tensors, &error), &error);
        sw_tensors_destroy(tensors);
    }
    return (double)stream_bytes * repeat / (bench_now_us() - begun) / 1e3;
}

static void compare(const char *name, const char *unit, double (*measure)(const struct side *), int rounds) {
    struct row row = {.name = name, .unit = unit};
    measure(&plain), measure(&secure);
    for (int i = 0; i < rounds; i++) {
        double plaintext = measure(&plain);
        row_add(&row, plaintext, measure(&secure));
    }
    row_print(&row);
}

/* ---- two daemons ---- */

static void publish(const struct side *side) {
    static sw_entry entries[20];
    static char names[20][48];
    sw_publisher *publisher = sw_client_publisher(side->publishing);
    sw_error error;
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "train/policy/some_loss_component_no_%02d", i);
        entries[i] = (sw_entry){sw_text_of(names[i]), sw_number(i / 3.0)};
    }
    const sw_value metrics = sw_dict(entries, 20);
    bench_must(sw_publish_metrics(publisher, &(sw_address){.channel = "train", .step = 1}, &metrics, 0, NULL,
                                  &error),
               &error);
    for (uint64_t mib = 4; mib <= LARGEST / MIB; mib *= 8) {
        char channel[32];
        snprintf(channel, sizeof channel, "stream/%d", (int)mib);
        const int64_t shape[] = {(int64_t)(mib * MIB)};
        const sw_named_tensor tensor = {"t", {SW_U8, 1, shape, into, mib * MIB}, NULL};
        bench_must(
            sw_publish_tensors(publisher, &(sw_address){.channel = channel}, &tensor, 1, 0, NULL, &error),
            &error);
    }
}

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
    if (!side->daemon) exit(1);
    sw_client_options_init(&options);
    bench_must(sw_client_open(daemon_target(side->daemon, 1), &options, &side->publishing, &error), &error);
    if (is_secure) options.tls_key = files[0], options.tls_cert = files[1], options.tls_ca = files[2];
    bench_must(sw_client_open(daemon_target(side->daemon, 0), &options, &side->client, &error), &error);
    publish(side);
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
    if (!mkdtemp(folder)) exit(1);
    for (size_t i = 0; i < 3; i++) snprintf(files[i], sizeof files[i], "%s/%s", folder, names[i]);
    cert_write_folder(folder, leaf, ca);
    cert_free(leaf);
    cert_free(ca);
}

int main(int argc, char **argv) {
    int rounds = bench_rounds(argc, argv);
    malloc_keep_for_streams();
    tls_keep_openssl();
    grpc_compat_tls13_only();
    into = calloc(1, LARGEST);
    if (!into) return 1;
    make_files();
    open_side(&plain, "plain", false);
    open_side(&secure, "secure", true);
    printf("%-44s %9s %9s %-5s %6s\n", "", "plaintext", "mTLS", "", "ratio");
    compare("pull of 20 held metrics", "us", pull_metrics, rounds);
    for (stream_bytes = 4 * MIB; stream_bytes <= LARGEST; stream_bytes *= 8) {
        char name[40];
        snprintf(name, sizeof name, "stream of %d MiB", (int)(stream_bytes / MIB));
        compare(name, "GB/s", stream, rounds);
    }
    close_side(&plain, "plain");
    close_side(&secure, "secure");
    for (size_t i = 0; i < 3; i++) unlink(files[i]);
    rmdir(folder);
    return 0;
}
