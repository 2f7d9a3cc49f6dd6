#include "tests/support/client.h"

#include <stdio.h>

#include "tests/support/folder.h"
#include "tests/support/test.h"

void bench_up(struct bench *bench) {
    const char *args[32] = {"--listen", "127.0.0.1:0", "--listen", bench->socket, "--publish-on-loopback",
                            "--run-id", "run-a",       "--stage",  "3",           "--stages",
                            "4"};
    size_t count = 11;
    for (size_t i = 0; bench->more && bench->more[i]; i++) args[count++] = bench->more[i];
    bench->daemon = daemon_start(args);
    cr_assert_not_null(bench->daemon, "stagewired did not come up");
}

void bench_down(struct bench *bench) {
    daemon_kill(bench->daemon);
    daemon_destroy(bench->daemon);
    bench->daemon = NULL;
}

void bench_open(struct bench *bench, const char *const *more) {
    *bench = (struct bench){.folder = "/tmp/stagewire-client-XXXXXX", .more = more};
    folder_make(bench->folder);
    snprintf(bench->socket, sizeof bench->socket, "unix:%s/s", bench->folder);
    bench_up(bench);
    bench->client = bench_client(bench, NULL);
    bench->publisher = sw_client_publisher(bench->client);
}

void bench_close(struct bench *bench) {
    sw_client_close(bench->client);
    daemon_destroy(bench->daemon);
    bench->daemon = NULL;
    folder_remove(bench->folder);
}

static sw_client *client_with(struct bench *bench, const char *endpoint, const sw_client_options *options) {
    sw_client *client;
    bench_ok(bench, sw_client_open(endpoint, options, &client, &bench->error));
    return client;
}

sw_client *bench_client(struct bench *bench, const char *consumer_id) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.run_id = "run-a";
    options.consumer_id = consumer_id;
    options.timeout_ms = 20000;
    return client_with(bench, daemon_target(bench->daemon, 0), &options);
}

sw_client *bench_client_of(struct bench *bench, const char *endpoint, int64_t endpoint_grace_ms) {
    sw_client_options options;
    sw_client_options_init(&options);
    options.timeout_ms = 20000;
    options.endpoint_grace_ms = endpoint_grace_ms;
    return client_with(bench, endpoint, &options);
}

sw_status bench_publish_by(sw_client *client, const char *channel, uint64_t step, int64_t value,
                           sw_error *error) {
    const sw_value metrics = sw_dict((sw_entry[]){{sw_text_of("v"), sw_integer(value)}}, 1);
    sw_address address = {.channel = channel, .step = step};
    return sw_publish_metrics(sw_client_publisher(client), &address, &metrics, 0, NULL, error);
}

void bench_publish(struct bench *bench, const char *channel, uint64_t step, int64_t value) {
    sw_error error;
    sw_status status = bench_publish_by(bench->client, channel, step, value, &error);
    cr_assert_eq(status, SW_OK, "%s", error.message);
}

void bench_wait_for_waiting(struct bench *bench, uint64_t waiting) {
    uint64_t found = UINT64_MAX;
    while (found != waiting) {
        sw_info *info;
        sw_error error;
        cr_assert_eq(sw_client_info(bench->client, 0, &info, &error), SW_OK, "%s", error.message);
        found = info->waiting;
        sw_info_destroy(info);
    }
}
